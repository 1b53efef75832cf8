-- sql/postgres/tables/DocumentChangeEvent.v1.sql: the journal of document changes, one row a stamp.
-- No foreign key to Document: a cascade would erase the history that a consumer has not read yet.
-- autovacuum: after a fiftieth, not a fifth: a prune leaves that much, and estimates go by it.
CREATE TABLE dms.DocumentChangeEvent (
    ChangeVersion bigint      NOT NULL,
    DocumentId    bigint      NOT NULL,
    TransactionId bigint      NOT NULL,
    CreatedAt     timestamptz NOT NULL,
    ResourceKeyId smallint    NOT NULL,
    Operation     varchar(6)  NOT NULL,  -- insert or update
    CONSTRAINT PK_DocumentChangeEvent PRIMARY KEY (ChangeVersion, DocumentId)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX IX_DocumentChangeEvent_Resource ON dms.DocumentChangeEvent (ResourceKeyId, ChangeVersion, DocumentId);
COMMENT ON TABLE dms.DocumentChangeEvent IS 'dmsjournal: the journal of document changes';
-- drop: DROP TABLE dms.DocumentChangeEvent;
-- drop: DELETE FROM dms.JournalFloor WHERE Journal = 'DocumentChangeEvent';

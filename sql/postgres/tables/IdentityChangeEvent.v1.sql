-- sql/postgres/tables/IdentityChangeEvent.v1.sql: the journal of identity changes, one row an identity stamp given by an update.
-- autovacuum: after a fiftieth, not a fifth: a prune leaves that much, and estimates go by it.
CREATE TABLE dms.IdentityChangeEvent (
    ChangeVersion bigint      NOT NULL,
    DocumentId    bigint      NOT NULL,
    CreatedAt     timestamptz NOT NULL,
    ResourceKeyId smallint    NOT NULL,
    CONSTRAINT PK_IdentityChangeEvent PRIMARY KEY (ChangeVersion, DocumentId)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX IX_IdentityChangeEvent_Resource ON dms.IdentityChangeEvent (ResourceKeyId, ChangeVersion, DocumentId);
COMMENT ON TABLE dms.IdentityChangeEvent IS 'dmsjournal: the journal of identity changes';
-- drop: DROP TABLE dms.IdentityChangeEvent;
-- drop: DELETE FROM dms.JournalFloor WHERE Journal = 'IdentityChangeEvent';

-- sql/postgres/tables/KeyChangeEvent.v1.sql: a document's key values before and after, at the identity stamp of the change.
-- autovacuum: after a fiftieth, not a fifth: a prune leaves that much, and estimates go by it.
CREATE TABLE dms.KeyChangeEvent (
    ChangeVersion bigint      NOT NULL CONSTRAINT PK_KeyChangeEvent PRIMARY KEY,
    DocumentId    bigint      NOT NULL,
    DocumentUuid  uuid        NOT NULL,
    CreatedAt     timestamptz NOT NULL,
    ResourceKeyId smallint    NOT NULL,
    OldKeyValues  jsonb       NULL,
    NewKeyValues  jsonb       NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX IX_KeyChangeEvent_Resource ON dms.KeyChangeEvent (ResourceKeyId, ChangeVersion);
-- A window lists a document's first old and last new values: both are found by the document.
CREATE INDEX IX_KeyChangeEvent_Document ON dms.KeyChangeEvent (DocumentId, ChangeVersion);
COMMENT ON TABLE dms.KeyChangeEvent IS 'dmsjournal: key values before and after';
-- drop: DROP TABLE dms.KeyChangeEvent;
-- drop: DELETE FROM dms.JournalFloor WHERE Journal = 'KeyChangeEvent';

-- sql/postgres/tables/KeyChangeEvent.v1.sql: a document's key values before and after, at the identity stamp of the change.
CREATE TABLE dms.KeyChangeEvent (
    ChangeVersion bigint      NOT NULL CONSTRAINT PK_KeyChangeEvent PRIMARY KEY,
    DocumentId    bigint      NOT NULL,
    DocumentUuid  uuid        NOT NULL,
    CreatedAt     timestamptz NOT NULL,
    ResourceKeyId smallint    NOT NULL,
    OldKeyValues  jsonb       NULL,
    NewKeyValues  jsonb       NULL
);
CREATE INDEX IX_KeyChangeEvent_Resource ON dms.KeyChangeEvent (ResourceKeyId, ChangeVersion);
-- A window lists a document's first old and last new values: both are found by the document.
CREATE INDEX IX_KeyChangeEvent_Document ON dms.KeyChangeEvent (DocumentId, ChangeVersion);
COMMENT ON TABLE dms.KeyChangeEvent IS 'dmsjournal: key values before and after';

-- sql/postgres/tables/IdentityChangeEvent.v1.sql: the journal of identity changes, one row an identity stamp given by an update.
CREATE TABLE dms.IdentityChangeEvent (
    ChangeVersion bigint      NOT NULL,
    DocumentId    bigint      NOT NULL,
    CreatedAt     timestamptz NOT NULL,
    ResourceKeyId smallint    NOT NULL,
    CONSTRAINT PK_IdentityChangeEvent PRIMARY KEY (ChangeVersion, DocumentId)
);
CREATE INDEX IX_IdentityChangeEvent_Resource ON dms.IdentityChangeEvent (ResourceKeyId, ChangeVersion, DocumentId);
COMMENT ON TABLE dms.IdentityChangeEvent IS 'dmsjournal: the journal of identity changes';

-- sql/postgres/tables/DocumentCache.v1.sql: a document's body, where one is kept. ComputedVersion is the ContentVersion that the
-- body was written at; identities of other documents inside it are as of then.
CREATE TABLE IF NOT EXISTS dms.DocumentCache (
    DocumentId      bigint CONSTRAINT PK_DocumentCache PRIMARY KEY
                    CONSTRAINT FK_DocumentCache_Document REFERENCES dms.Document (DocumentId) ON DELETE CASCADE,
    DocumentJson    jsonb       NOT NULL,
    Etag            varchar(64) NOT NULL,
    LastModifiedAt  timestamptz NOT NULL DEFAULT clock_timestamp(),
    ComputedVersion bigint      NOT NULL
);
COMMENT ON TABLE dms.DocumentCache IS 'dmsjournal: the bodies of documents';

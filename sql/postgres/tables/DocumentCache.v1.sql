-- sql/postgres/tables/DocumentCache.v1.sql: a document's body, where one is kept. ComputedVersion is the ContentVersion that the
-- body was written at, or the last stamp of the key change that rewrote it; identities of other documents inside it are as of then.
-- CK_DocumentCache_DocumentJson: a body has 64 MiB as text at most; JSON that is read has 1 GiB a row, of a body before and after, and what is
-- above it stops every reader. The text is not made for up to 7,000 bytes that are not compressed: 16 of them are 147,459 of text at most
-- (the number 1e131071 with all its decimals), so they cannot reach the limit. Another limit: docs/dba/limits.md.
CREATE TABLE IF NOT EXISTS dms.DocumentCache (
    DocumentId      bigint CONSTRAINT PK_DocumentCache PRIMARY KEY
                    CONSTRAINT FK_DocumentCache_Document REFERENCES dms.Document (DocumentId) ON DELETE CASCADE,
    DocumentJson    jsonb       NOT NULL CONSTRAINT CK_DocumentCache_DocumentJson
                    CHECK (pg_column_size(DocumentJson) <= 7000 AND pg_column_compression(DocumentJson) IS NULL
                           OR octet_length(DocumentJson::text) <= 67108864),
    Etag            varchar(64) NOT NULL,
    LastModifiedAt  timestamptz NOT NULL DEFAULT clock_timestamp(),
    ComputedVersion bigint      NOT NULL
);
COMMENT ON TABLE dms.DocumentCache IS 'dmsjournal: the bodies of documents';

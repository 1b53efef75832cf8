-- sql/sqlserver/tables/Document.v1.sql: the current state of each resource instance, with its last content and identity stamp.
-- Stamps and timestamps are the database's: TR_Document_Stamp sets them whatever a caller writes (invariant 1). The defaults show only
-- where triggers were bypassed: a document at version 0 was never stamped. Timestamps are UTC.
-- A document is found by its key through the hash of its key values, which TR_Document_Stamp keeps: an index on a computed column would
-- refuse every writer that has QUOTED_IDENTIFIER off (sqlcmd's default). The text is canonical where our writer wrote it: names in order,
-- no blanks, numbers without the zeros at their ends.
-- CK_Document_DocumentId: a walk begins after the lowest bigint, and a cursor at the highest one says that a version was read in full.
-- CK_Document_KeyValues: 8,192 characters, as PostgreSQL has them; what readers get is the text as it is.
IF OBJECT_ID(N'dms.Document') IS NULL
BEGIN
    CREATE TABLE dms.Document (
        DocumentId             bigint IDENTITY (1, 1) NOT NULL CONSTRAINT PK_Document PRIMARY KEY
                               CONSTRAINT CK_Document_DocumentId
                               CHECK (DocumentId >= -9223372036854775807 AND DocumentId <= 9223372036854775806),
        DocumentUuid           uniqueidentifier NOT NULL CONSTRAINT DF_Document_DocumentUuid DEFAULT NEWID()
                               CONSTRAINT UX_Document_DocumentUuid UNIQUE,
        ResourceKeyId          smallint         NOT NULL CONSTRAINT FK_Document_ResourceKey REFERENCES dms.ResourceKey (ResourceKeyId),
        ContentVersion         bigint           NOT NULL CONSTRAINT DF_Document_ContentVersion DEFAULT 0,
        IdentityVersion        bigint           NOT NULL CONSTRAINT DF_Document_IdentityVersion DEFAULT 0,
        ContentLastModifiedAt  datetime2(7)     NOT NULL CONSTRAINT DF_Document_ContentLastModifiedAt DEFAULT SYSUTCDATETIME(),
        IdentityLastModifiedAt datetime2(7)     NOT NULL CONSTRAINT DF_Document_IdentityLastModifiedAt DEFAULT SYSUTCDATETIME(),
        CreatedAt              datetime2(7)     NOT NULL CONSTRAINT DF_Document_CreatedAt DEFAULT SYSUTCDATETIME(),
        KeyValues              nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL
                               CONSTRAINT CK_Document_KeyValues CHECK (ISJSON(KeyValues) = 1 AND DATALENGTH(KeyValues) <= 16384),
        KeyValuesHash          binary(32)       NULL
    );
    CREATE INDEX IX_Document_ResourceKeyId ON dms.Document (ResourceKeyId, DocumentId);
    CREATE INDEX IX_Document_KeyValues ON dms.Document (ResourceKeyId, KeyValuesHash);
    EXEC sys.sp_addextendedproperty N'dmsjournal', N'the documents, stamped by trigger', N'SCHEMA', N'dms', N'TABLE', N'Document';
END;

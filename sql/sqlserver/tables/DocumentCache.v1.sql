-- sql/sqlserver/tables/DocumentCache.v1.sql: a document's body, where one is kept. ComputedVersion is the ContentVersion that the
-- body was written at, or the last stamp of the key change that rewrote it; identities of other documents inside it are as of then.
-- A body has 64 Mi characters at most, so that what reads it need not expect 2 GB; another limit: docs/dba/limits.md.
IF OBJECT_ID(N'dms.DocumentCache') IS NULL
BEGIN
    CREATE TABLE dms.DocumentCache (
        DocumentId      bigint        NOT NULL CONSTRAINT PK_DocumentCache PRIMARY KEY
                        CONSTRAINT FK_DocumentCache_Document REFERENCES dms.Document (DocumentId) ON DELETE CASCADE,
        DocumentJson    nvarchar(max) NOT NULL CONSTRAINT CK_DocumentCache_DocumentJson
                        CHECK (ISJSON(DocumentJson) = 1 AND DATALENGTH(DocumentJson) <= 134217728),
        Etag            varchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
        LastModifiedAt  datetime2(7)  NOT NULL CONSTRAINT DF_DocumentCache_LastModifiedAt DEFAULT SYSUTCDATETIME(),
        ComputedVersion bigint        NOT NULL
    );
    EXEC sys.sp_addextendedproperty N'dmsjournal', N'the bodies of documents', N'SCHEMA', N'dms', N'TABLE', N'DocumentCache';
END;

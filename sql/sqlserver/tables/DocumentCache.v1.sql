-- sql/sqlserver/tables/DocumentCache.v1.sql: a document's body, where one is kept. ComputedVersion is the ContentVersion that the
-- body was written at; identities of other documents inside it are as of then.
IF OBJECT_ID(N'dms.DocumentCache') IS NULL
BEGIN
    CREATE TABLE dms.DocumentCache (
        DocumentId      bigint        NOT NULL CONSTRAINT PK_DocumentCache PRIMARY KEY
                        CONSTRAINT FK_DocumentCache_Document REFERENCES dms.Document (DocumentId) ON DELETE CASCADE,
        DocumentJson    nvarchar(max) NOT NULL CONSTRAINT CK_DocumentCache_DocumentJson CHECK (ISJSON(DocumentJson) = 1),
        Etag            varchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
        LastModifiedAt  datetime2(7)  NOT NULL CONSTRAINT DF_DocumentCache_LastModifiedAt DEFAULT SYSUTCDATETIME(),
        ComputedVersion bigint        NOT NULL
    );
    EXEC sys.sp_addextendedproperty N'dmsjournal', N'the bodies of documents', N'SCHEMA', N'dms', N'TABLE', N'DocumentCache';
END;

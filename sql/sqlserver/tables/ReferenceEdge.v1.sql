-- sql/sqlserver/tables/ReferenceEdge.v1.sql: the parent's representation embeds the child's identity (or a descriptor's URI).
-- Deleting a parent takes its edges along. Deleting a referenced child is refused: otherwise its parents' derived versions would
-- silently fall. ParentResourceKeyId is TR_ReferenceEdge_Stamp's, whatever a caller writes.
IF OBJECT_ID(N'dms.ReferenceEdge') IS NULL
BEGIN
    CREATE TABLE dms.ReferenceEdge (
        ParentDocumentId    bigint       NOT NULL
                            CONSTRAINT FK_ReferenceEdge_Parent REFERENCES dms.Document (DocumentId) ON DELETE CASCADE,
        ChildDocumentId     bigint       NOT NULL
                            CONSTRAINT FK_ReferenceEdge_Referenced REFERENCES dms.Document (DocumentId),
        IsIdentityComponent bit          NOT NULL CONSTRAINT DF_ReferenceEdge_IsIdentityComponent DEFAULT 0,
        ParentResourceKeyId smallint     NOT NULL CONSTRAINT DF_ReferenceEdge_ParentResourceKeyId DEFAULT 0,
        CreatedAt           datetime2(7) NOT NULL CONSTRAINT DF_ReferenceEdge_CreatedAt DEFAULT SYSUTCDATETIME(),
        CONSTRAINT PK_ReferenceEdge PRIMARY KEY (ParentDocumentId, ChildDocumentId)
    );
    CREATE INDEX IX_ReferenceEdge_Child ON dms.ReferenceEdge (ChildDocumentId, ParentResourceKeyId, ParentDocumentId);
    EXEC sys.sp_addextendedproperty N'dmsjournal', N'which document refers to which', N'SCHEMA', N'dms', N'TABLE', N'ReferenceEdge';
END;

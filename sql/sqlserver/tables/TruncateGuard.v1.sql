-- sql/sqlserver/tables/TruncateGuard.v1.sql: always empty. A table that a foreign key refers to cannot be truncated, which no trigger would
-- see: dms.Document is referred to anyway, the edges and the journals are from here.
CREATE TABLE dms.TruncateGuard (
    ParentDocumentId    bigint NULL,
    ChildDocumentId     bigint NULL,
    ChangeVersion       bigint NULL,
    DocumentId          bigint NULL,
    Journal             nvarchar(64) NULL,
    Name                nvarchar(256) COLLATE Latin1_General_100_BIN2 NULL,
    ParentResourceKeyId smallint NULL,
    ChildResourceKeyId  smallint NULL,
    CONSTRAINT CK_TruncateGuard CHECK (1 = 0),
    CONSTRAINT FK_TruncateGuard_ReferenceEdge FOREIGN KEY (ParentDocumentId, ChildDocumentId)
        REFERENCES dms.ReferenceEdge (ParentDocumentId, ChildDocumentId),
    CONSTRAINT FK_TruncateGuard_DocumentChangeEvent FOREIGN KEY (ChangeVersion, DocumentId)
        REFERENCES dms.DocumentChangeEvent (ChangeVersion, DocumentId),
    CONSTRAINT FK_TruncateGuard_IdentityChangeEvent FOREIGN KEY (ChangeVersion, DocumentId)
        REFERENCES dms.IdentityChangeEvent (ChangeVersion, DocumentId),
    CONSTRAINT FK_TruncateGuard_KeyChangeEvent FOREIGN KEY (ChangeVersion) REFERENCES dms.KeyChangeEvent (ChangeVersion),
    CONSTRAINT FK_TruncateGuard_DocumentDeleteEvent FOREIGN KEY (ChangeVersion) REFERENCES dms.DocumentDeleteEvent (ChangeVersion),
    CONSTRAINT FK_TruncateGuard_JournalFloor FOREIGN KEY (Journal) REFERENCES dms.JournalFloor (Journal),
    CONSTRAINT FK_TruncateGuard_ChangeConsumer FOREIGN KEY (Name) REFERENCES dms.ChangeConsumer (Name),
    CONSTRAINT FK_TruncateGuard_ResourceDependency FOREIGN KEY (ParentResourceKeyId, ChildResourceKeyId)
        REFERENCES dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'always empty: its foreign keys refuse TRUNCATE', N'SCHEMA', N'dms', N'TABLE', N'TruncateGuard';
-- drop: DROP TABLE dms.TruncateGuard;

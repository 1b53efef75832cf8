-- sql/sqlserver/tables/ResourceDependency.v1.sql: which resources refer to which, so that a query for one resource visits the
-- identity events of those alone. Kept by TR_ReferenceEdge_Stamp; a pair once seen stays.
CREATE TABLE dms.ResourceDependency (
    ParentResourceKeyId smallint NOT NULL
                        CONSTRAINT FK_ResourceDependency_Parent REFERENCES dms.ResourceKey (ResourceKeyId),
    ChildResourceKeyId  smallint NOT NULL
                        CONSTRAINT FK_ResourceDependency_Child REFERENCES dms.ResourceKey (ResourceKeyId),
    CONSTRAINT PK_ResourceDependency PRIMARY KEY (ParentResourceKeyId, ChildResourceKeyId)
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'which resources refer to which', N'SCHEMA', N'dms', N'TABLE', N'ResourceDependency';
-- drop: DROP TABLE dms.ResourceDependency;

-- sql/postgres/tables/ResourceDependency.v1.sql: which resources refer to which, so that a query for one resource visits the
-- identity events of those alone. Kept by stamp_parents; a pair once seen stays.
CREATE TABLE dms.ResourceDependency (
    ParentResourceKeyId smallint NOT NULL
                        CONSTRAINT FK_ResourceDependency_Parent REFERENCES dms.ResourceKey (ResourceKeyId),
    ChildResourceKeyId  smallint NOT NULL
                        CONSTRAINT FK_ResourceDependency_Child REFERENCES dms.ResourceKey (ResourceKeyId),
    CONSTRAINT PK_ResourceDependency PRIMARY KEY (ParentResourceKeyId, ChildResourceKeyId)
);
COMMENT ON TABLE dms.ResourceDependency IS 'dmsjournal: which resources refer to which';
-- drop: DROP TABLE dms.ResourceDependency;

-- sql/sqlserver/tables/ResourceKey.v1.sql: the two-byte id of a resource; everything else carries the id, never the three names.
-- Names are compared by their code units, whatever the database's collation: Student and student are two resources.
IF OBJECT_ID(N'dms.ResourceKey') IS NULL
BEGIN
    CREATE TABLE dms.ResourceKey (
        ResourceKeyId   smallint IDENTITY (1, 1) NOT NULL CONSTRAINT PK_ResourceKey PRIMARY KEY
                        CONSTRAINT CK_ResourceKey_ResourceKeyId CHECK (ResourceKeyId > 0),  -- 0 is no resource: TR_ReferenceEdge_Stamp
        ProjectName     nvarchar(256) COLLATE Latin1_General_100_BIN2 NOT NULL,
        ResourceName    nvarchar(256) COLLATE Latin1_General_100_BIN2 NOT NULL,
        ResourceVersion nvarchar(64)  COLLATE Latin1_General_100_BIN2 NOT NULL,
        CONSTRAINT UX_ResourceKey UNIQUE (ProjectName, ResourceName, ResourceVersion),
        CONSTRAINT CK_ResourceKey_Names CHECK (ProjectName <> N'' AND ResourceName <> N'' AND ResourceVersion <> N''),
        -- Names are printed on terminals, in messages and in paths: no control character.
        CONSTRAINT CK_ResourceKey_Printable CHECK (
            CONCAT(ProjectName, ResourceName, ResourceVersion) COLLATE Latin1_General_100_BIN2
            NOT LIKE N'%[' + NCHAR(1) + N'-' + NCHAR(31) + NCHAR(127) + N'-' + NCHAR(159) + N']%')
    );
    EXEC sys.sp_addextendedproperty N'dmsjournal', N'the resources and their two-byte ids', N'SCHEMA', N'dms', N'TABLE', N'ResourceKey';
END;

-- sql/sqlserver/adopt/begin.sql: from here on an adoption is on its way, and upgrades wait for its end (checks/installable.sql).
IF OBJECT_ID(N'dms.Adoption') IS NULL
BEGIN
    CREATE TABLE dms.Adoption (
        Fill    nvarchar(64) NOT NULL CONSTRAINT PK_Adoption PRIMARY KEY,
        Through bigint       NOT NULL  -- the last DocumentId that is done
    );
    EXEC sys.sp_addextendedproperty N'dmsjournal', N'an adoption that is on its way, and how far its fills are', N'SCHEMA', N'dms', N'TABLE', N'Adoption';
END;
IF OBJECT_ID(N'dms.AdoptionBefore') IS NULL
BEGIN
    CREATE TABLE dms.AdoptionBefore (
        Kind      nvarchar(16)  NOT NULL,  -- as queries/schema/adopt_before.sql gives them
        TableName nvarchar(128) NOT NULL,
        Name      nvarchar(160) NOT NULL,
        CONSTRAINT PK_AdoptionBefore PRIMARY KEY (Kind, TableName, Name)
    );
    EXEC sys.sp_addextendedproperty N'dmsjournal', N'what the tables lacked before an adoption, and what it replaces', N'SCHEMA', N'dms', N'TABLE', N'AdoptionBefore';
END;

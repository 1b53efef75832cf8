-- sql/sqlserver/adopting/begin.sql: from here on an adoption is on its way, and upgrades wait for its end (checks/installable.sql).
IF OBJECT_ID(N'dms.Adoption') IS NULL
BEGIN
    CREATE TABLE dms.Adoption (
        Fill    nvarchar(64) NOT NULL CONSTRAINT PK_Adoption PRIMARY KEY,
        Through bigint       NOT NULL  -- the last DocumentId that is done
    );
    EXEC sys.sp_addextendedproperty N'dmsjournal', N'an adoption that is on its way, and how far its fills are', N'SCHEMA', N'dms', N'TABLE', N'Adoption';
END;

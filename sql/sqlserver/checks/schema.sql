-- sql/sqlserver/checks/schema.sql: where everything lives, alembic_version included. What a removal left of alembic_version goes, since a
-- script always makes it. Dynamic: CREATE SCHEMA must be alone in its batch.
DECLARE @revisions int = 1;
IF SCHEMA_ID(N'dms') IS NULL
    EXEC sys.sp_executesql N'CREATE SCHEMA dms;';
IF OBJECT_ID(N'dms.alembic_version') IS NOT NULL
BEGIN
    EXEC sys.sp_executesql N'SELECT @revisions = COUNT(*) FROM dms.alembic_version;', N'@revisions int OUTPUT', @revisions OUTPUT;
    IF @revisions = 0
        DROP TABLE dms.alembic_version;
END;

-- sql/sqlserver/checks/versions.sql: what a removal left of alembic_version goes, since a script always makes it. Runs after the other checks.
DECLARE @revisions int = 1;
IF OBJECT_ID(N'dms.alembic_version') IS NOT NULL
BEGIN
    EXEC sys.sp_executesql N'SELECT @revisions = COUNT(*) FROM dms.alembic_version;', N'@revisions int OUTPUT', @revisions OUTPUT;
    IF @revisions = 0
        DROP TABLE dms.alembic_version;
END;

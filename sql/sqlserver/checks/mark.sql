-- sql/sqlserver/checks/mark.sql: marks Alembic's own table as ours where it holds no revision: Alembic makes it also where it then finds
-- nothing to do; and where a stamp has made it again beside a journal. Runs after the migrations.
DECLARE @revisions int = 1, @is_marked bit = 1;
IF OBJECT_ID(N'dms.alembic_version') IS NOT NULL AND NOT EXISTS (
    SELECT * FROM sys.extended_properties
    WHERE class = 1 AND major_id = OBJECT_ID(N'dms.alembic_version') AND minor_id = 0 AND name = N'dmsjournal')
BEGIN
    SET @is_marked = 0;
    EXEC sys.sp_executesql N'SELECT @revisions = COUNT(*) FROM dms.alembic_version;', N'@revisions int OUTPUT', @revisions OUTPUT;
END;
IF @revisions = 0
   OR @revisions > 0 AND @is_marked = 0 AND EXISTS (
       SELECT * FROM sys.extended_properties
       WHERE class = 1 AND major_id = OBJECT_ID(N'dms.Document') AND minor_id = 0 AND name = N'dmsjournal')
    EXEC sys.sp_addextendedproperty N'dmsjournal', N'the revision that is installed', N'SCHEMA', N'dms', N'TABLE', N'alembic_version';

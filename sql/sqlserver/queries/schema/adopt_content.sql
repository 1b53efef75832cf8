-- sql/sqlserver/queries/schema/adopt_content.sql: the columns that adopt/content.sql reads, which comes next in this session.
-- Binds: columns (JSON array).
SET NOCOUNT ON;
DECLARE @columns nvarchar(4000) = :columns;
EXEC sys.sp_set_session_context N'dms.content_columns', @columns;

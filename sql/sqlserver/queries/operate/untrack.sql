-- sql/sqlserver/queries/operate/untrack.sql: tracks a table no more (procedures/untrack.v1.sql). Binds: table_name; keep_documents (a truth value).
SET NOCOUNT ON;
DECLARE @table_name nvarchar(600) = :table_name, @keep_documents bit = :keep_documents;
EXEC dms.untrack @table_name, @keep_documents;
SELECT 1 AS untracked;

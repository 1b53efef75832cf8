-- sql/sqlserver/queries/operate/verify_tracked_documents.sql: documents of a tracked table that have no row, among the next ones after an id.
-- Binds: table_name; after (exclusive). Gives: code, name (document id); and a row 'end' with the last id that was looked at, null at the end.
SET NOCOUNT ON;
DECLARE @table_name nvarchar(600) = :table_name, @after bigint = :after;
EXEC dms.check_tracked_documents @table_name, @after;

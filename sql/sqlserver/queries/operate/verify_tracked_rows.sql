-- sql/sqlserver/queries/operate/verify_tracked_rows.sql: rows of some blocks of a tracked table without a document, or whose document has other edges or another body.
-- Binds: table_name; low (inclusive), high (exclusive): blocks of 64 rows. Gives: code, name (key or document id); and a row 'end' with how many blocks the table has.
SET NOCOUNT ON;
DECLARE @table_name nvarchar(600) = :table_name, @low bigint = :low, @high bigint = :high;
EXEC dms.check_tracked_rows @table_name, @low, @high;

-- sql/sqlserver/queries/operate/fill_table.sql: fills a table in one call (procedures/fill_table.v1.sql). Binds: table_name. Gives: made (documents).
SET NOCOUNT ON;
DECLARE @table_name nvarchar(600) = :table_name, @made bigint;
EXEC dms.fill_table @table_name, @made OUTPUT;
SELECT @made AS made;

-- sql/sqlserver/queries/operate/fill_tracked.sql: one batch of a fill (procedures/fill_tracked.v1.sql); no row: it is at its end.
-- Binds: table_name; blocks (of 64 rows, in one transaction). Gives: pass (rows or documents), done, total (blocks), made (documents).
SET NOCOUNT ON;
DECLARE @table_name nvarchar(600) = :table_name, @blocks int = :blocks, @is_done bit, @pass nvarchar(16), @done bigint, @total bigint, @made int;
EXEC dms.fill_tracked @table_name, @blocks, @is_done OUTPUT, @pass OUTPUT, @done OUTPUT, @total OUTPUT, @made OUTPUT;
SELECT @pass AS pass, @done AS done, @total AS total, @made AS made WHERE @is_done = 0;

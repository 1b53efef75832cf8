-- sql/sqlserver/procedures/fill_table.v1.sql: a whole fill in one call, for small tables and migrations; in one transaction where the caller has one. @made: how many documents it made.
CREATE PROCEDURE dms.fill_table @table_name nvarchar(600), @made bigint = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @is_done bit = 0, @more int;
    SET @made = 0;
    WHILE @is_done = 0
    BEGIN
        EXEC dms.fill_tracked @table_name, 1024, @is_done OUTPUT, @made = @more OUTPUT;
        SET @made = @made + @more;
    END;
END;
-- drop: DROP PROCEDURE dms.fill_table;

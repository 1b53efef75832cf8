-- sql/sqlserver/functions/tracked_name.v1.sql: the name of a table with its schema, each in brackets where it needs them; null where it is gone.
CREATE FUNCTION dms.tracked_name (@relation int) RETURNS nvarchar(600)
AS
BEGIN
    RETURN (
        SELECT CONCAT(CASE WHEN s.name COLLATE Latin1_General_100_BIN2 LIKE N'%[^A-Za-z0-9_]%' OR s.name LIKE N'[0-9]%' THEN QUOTENAME(s.name) ELSE s.name END, N'.',
                      CASE WHEN o.name COLLATE Latin1_General_100_BIN2 LIKE N'%[^A-Za-z0-9_]%' OR o.name LIKE N'[0-9]%' THEN QUOTENAME(o.name) ELSE o.name END)
        FROM sys.objects AS o INNER JOIN sys.schemas AS s ON s.schema_id = o.schema_id WHERE o.object_id = @relation);
END;
-- drop: DROP FUNCTION dms.tracked_name;

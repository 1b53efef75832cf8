-- sql/sqlserver/functions/tracked_definitions.v1.sql: the columns of a table: number, name and type of each, as JSON.
CREATE FUNCTION dms.tracked_definitions (@relation int) RETURNS nvarchar(max)
AS
BEGIN
    RETURN (
        SELECT CONCAT(N'[', STRING_AGG(CAST(CONCAT(N'{"number":', c.column_id, N',"name":"', STRING_ESCAPE(c.name, N'json'), N'","type":"', STRING_ESCAPE(c.declared, N'json'), N'"}') AS nvarchar(max)), N',')
                          WITHIN GROUP (ORDER BY c.column_id), N']')
        FROM dms.tracked_columns(@relation) AS c);
END;
-- drop: DROP FUNCTION dms.tracked_definitions;

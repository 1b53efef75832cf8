-- sql/sqlserver/functions/tracked_body.v1.sql: the SQL expression that makes a body of a row, whose columns an alias has: a property a column, in the table's order.
-- @is_kept: of a body that is kept until the row changes, in which nothing is that can be another one by then. Encrypted columns are nobody's to read here.
CREATE FUNCTION dms.tracked_body (@relation int, @alias nvarchar(128), @is_kept bit) RETURNS nvarchar(max)
AS
BEGIN
    RETURN (
        SELECT CONCAT(N'CAST(N''{'' + ', STRING_AGG(CAST(CONCAT(N'N''"', REPLACE(REPLACE(STRING_ESCAPE(c.name, N'json'), N'\/', N'/'), N'''', N''''''), N'":'' + CASE WHEN ', @alias, N'.', c.quoted,
                          N' IS NULL THEN N''null'' ELSE ', dms.tracked_json(c.type, c.scale, CONCAT(@alias, N'.', c.quoted)), N' END') AS nvarchar(max)), N' + N'','' + ')
                          WITHIN GROUP (ORDER BY c.column_id),
                      N' + N''}'' AS nvarchar(max))')
        FROM dms.tracked_columns(@relation) AS c
        WHERE c.is_column_set = 0 AND c.is_encrypted = 0 AND (@is_kept = 0 OR c.is_unwritten = 0)
        HAVING COUNT(*) > 0);
END;
-- drop: DROP FUNCTION dms.tracked_body;

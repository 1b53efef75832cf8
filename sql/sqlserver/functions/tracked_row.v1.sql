-- sql/sqlserver/functions/tracked_row.v1.sql: the SQL that joins the row of a tracked table, of a source that is called r, to an expression for KeyValues: the key is made of
-- JSON (tracked_typed.v1.sql), and the row found by the key's index.
CREATE FUNCTION dms.tracked_row (@tracked_id smallint, @key nvarchar(300), @source nvarchar(800)) RETURNS nvarchar(max)
AS
BEGIN
    RETURN (
        SELECT CONCAT(dms.tracked_typed(@tracked_id, @key), N' INNER JOIN ', @source, N' ON ',
                      STRING_AGG(CAST(CONCAT(N'r.', k.quoted, N' = ', k.typed) AS nvarchar(max)), N' AND ') WITHIN GROUP (ORDER BY k.place))
        FROM dms.tracked_key(@tracked_id) AS k
        HAVING COUNT(*) > 0);
END;
-- drop: DROP FUNCTION dms.tracked_row;

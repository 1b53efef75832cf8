-- sql/sqlserver/functions/tracked_typed.v1.sql: the SQL that makes the values of a tracked table's key (k.K1, k.K2, ...) of an expression for KeyValues.
CREATE FUNCTION dms.tracked_typed (@tracked_id smallint, @key nvarchar(300)) RETURNS nvarchar(max)
AS
BEGIN
    RETURN (
        SELECT CONCAT(N'CROSS APPLY OPENJSON(', @key, N') WITH (',
                      STRING_AGG(CAST(CONCAT(N'K', k.place, N' ', k.json_type, CASE WHEN k.property COLLATE Latin1_General_100_BIN2 LIKE N'%[^ -~]%' THEN N' N''$."' ELSE N' ''$."' END, REPLACE(STRING_ESCAPE(k.property, N'json'), N'''', N''''''), N'"''') AS nvarchar(max)), N', ')
                          WITHIN GROUP (ORDER BY k.place), N') AS k')
        FROM dms.tracked_key(@tracked_id) AS k
        HAVING COUNT(*) > 0);
END;
-- drop: DROP FUNCTION dms.tracked_typed;

-- sql/sqlserver/functions/tracked_key_json.v1.sql: the SQL expression that makes the KeyValues of a row, whose key's columns an alias has; with a prefix they are called by
-- it and their place. Names in order, no blanks, as our
-- writer writes a key (tables/Document.v1.sql).
CREATE FUNCTION dms.tracked_key_json (@tracked_id smallint, @alias nvarchar(128), @prefix nvarchar(8)) RETURNS nvarchar(max)
AS
BEGIN
    RETURN (
        SELECT CONCAT(N'CAST(N''{'' + ', STRING_AGG(CAST(named.part AS nvarchar(max)), N' + N'','' + ') WITHIN GROUP (ORDER BY named.property COLLATE Latin1_General_100_BIN2),
                      N' + N''}'' AS nvarchar(max)) COLLATE Latin1_General_100_BIN2')
        FROM (
            SELECT k.property, CONCAT(N'N''"', REPLACE(REPLACE(STRING_ESCAPE(k.property, N'json'), N'\/', N'/'), N'''', N''''''), N'":'' + ',
                                      dms.tracked_json(k.type, k.scale, CONCAT(@alias, N'.', CASE WHEN @prefix IS NULL THEN k.quoted ELSE CONCAT(@prefix, k.place) END))) AS part
            FROM dms.tracked_key(@tracked_id) AS k) AS named
        HAVING COUNT(*) > 0);
END;
-- drop: DROP FUNCTION dms.tracked_key_json;

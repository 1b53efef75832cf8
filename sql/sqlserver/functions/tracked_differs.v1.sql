-- sql/sqlserver/functions/tracked_differs.v1.sql: the SQL condition that a column of `new` is not stored as that of `old` is: ABC and abc, or a blank at the end, are a
-- change, whatever the collation. Written out, since a hash join takes no subquery.
CREATE FUNCTION dms.tracked_differs (@type nvarchar(128), @max_length int, @is_nullable bit, @quoted nvarchar(300)) RETURNS nvarchar(max)
AS
BEGIN
    DECLARE @values nvarchar(max) = CASE
        WHEN @type IN (N'char', N'varchar', N'nchar', N'nvarchar', N'xml', N'json')
            THEN CONCAT(N'CONVERT(nvarchar(', CASE WHEN @max_length BETWEEN 1 AND 8000 AND @type <> N'xml' THEN N'4000' ELSE N'max' END,
                        N'), new.$c$) COLLATE Latin1_General_100_BIN2 <> CONVERT(nvarchar(', CASE WHEN @max_length BETWEEN 1 AND 8000 AND @type <> N'xml' THEN N'4000' ELSE N'max' END,
                        N'), old.$c$) COLLATE Latin1_General_100_BIN2 OR DATALENGTH(new.$c$) <> DATALENGTH(old.$c$)')
        WHEN @type IN (N'binary', N'varbinary') THEN N'new.$c$ <> old.$c$ OR DATALENGTH(new.$c$) <> DATALENGTH(old.$c$)'
        WHEN @type = N'datetimeoffset' THEN N'CONVERT(nvarchar(34), new.$c$, 121) <> CONVERT(nvarchar(34), old.$c$, 121)'  -- the zone is stored, too
        WHEN @type = N'clr' THEN N'CAST(new.$c$ AS varbinary(max)) <> CAST(old.$c$ AS varbinary(max))'
        ELSE N'new.$c$ <> old.$c$' END;
    IF @is_nullable = 1
        SET @values = CONCAT(@values, N' OR (new.$c$ IS NULL AND old.$c$ IS NOT NULL) OR (new.$c$ IS NOT NULL AND old.$c$ IS NULL)');
    RETURN REPLACE(@values, N'$c$', @quoted);
END;
-- drop: DROP FUNCTION dms.tracked_differs;

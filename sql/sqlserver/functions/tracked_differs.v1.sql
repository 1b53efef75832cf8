-- sql/sqlserver/functions/tracked_differs.v1.sql: the SQL condition that a column of `new` is not stored as that of `old` is: ABC and abc, or a blank at the end, are a
-- change, whatever the collation. Written out, since a hash join takes no subquery. Text of up to 4,000 characters is compared as such; CONVERT would cut a longer one.
CREATE FUNCTION dms.tracked_differs (@type nvarchar(128), @max_length int, @is_nullable bit, @quoted nvarchar(300)) RETURNS nvarchar(max)
AS
BEGIN
    DECLARE @length nvarchar(8) = CASE WHEN @max_length BETWEEN 1 AND 4000 AND @type IN (N'char', N'varchar') OR @max_length > 0 AND @type IN (N'nchar', N'nvarchar') THEN N'4000' ELSE N'max' END;
    DECLARE @values nvarchar(max) = CASE
        WHEN @type IN (N'char', N'varchar', N'nchar', N'nvarchar', N'xml', N'json', N'vector')
            THEN CONCAT(N'CONVERT(nvarchar(', @length, N'), new.$c$) COLLATE Latin1_General_100_BIN2 <> CONVERT(nvarchar(', @length,
                        N'), old.$c$) COLLATE Latin1_General_100_BIN2 OR DATALENGTH(new.$c$) <> DATALENGTH(old.$c$)')
        WHEN @type = N'sql_variant'  -- 1 and 1.0, or two of its texts, can be equal
            THEN N'CAST(new.$c$ AS varbinary(8000)) <> CAST(old.$c$ AS varbinary(8000)) OR DATALENGTH(new.$c$) <> DATALENGTH(old.$c$) '
                + N'OR CAST(SQL_VARIANT_PROPERTY(new.$c$, N''BaseType'') AS nvarchar(128)) <> CAST(SQL_VARIANT_PROPERTY(old.$c$, N''BaseType'') AS nvarchar(128))'
        WHEN @type IN (N'float', N'real')  -- zero has a sign
            THEN N'new.$c$ <> old.$c$ OR (new.$c$ = 0 AND CONVERT(nvarchar(32), new.$c$, 3) <> CONVERT(nvarchar(32), old.$c$, 3))'
        WHEN @type IN (N'binary', N'varbinary') THEN N'new.$c$ <> old.$c$ OR DATALENGTH(new.$c$) <> DATALENGTH(old.$c$)'
        WHEN @type = N'datetimeoffset' THEN N'CONVERT(nvarchar(34), new.$c$, 121) <> CONVERT(nvarchar(34), old.$c$, 121)'  -- the zone is stored, too
        WHEN @type = N'clr' THEN N'CAST(new.$c$ AS varbinary(max)) <> CAST(old.$c$ AS varbinary(max)) OR DATALENGTH(new.$c$) <> DATALENGTH(old.$c$)'
        ELSE N'new.$c$ <> old.$c$' END;
    IF @is_nullable = 1
        SET @values = CONCAT(@values, N' OR (new.$c$ IS NULL AND old.$c$ IS NOT NULL) OR (new.$c$ IS NOT NULL AND old.$c$ IS NULL)');
    RETURN REPLACE(@values, N'$c$', @quoted);
END;
-- drop: DROP FUNCTION dms.tracked_differs;

-- sql/sqlserver/functions/tracked_json.v1.sql: the SQL expression that makes JSON of an expression of a type (tracked_columns.v1.sql), which is not null: the same text in
-- every session, whatever its language and date format. Numbers and times are written without the zeros at their ends; a time with a zone in UTC.
CREATE FUNCTION dms.tracked_json (@type nvarchar(128), @scale int, @value nvarchar(max)) RETURNS nvarchar(max)
AS
BEGIN
    DECLARE @text nvarchar(max) = CASE
        WHEN @type IN (N'decimal', N'numeric') THEN N'CONVERT(nvarchar(41), $value$)'
        WHEN @type IN (N'money', N'smallmoney') THEN N'CONVERT(nvarchar(41), CAST($value$ AS decimal(19, 4)))'
        WHEN @type = N'datetime' THEN N'REPLACE(CONVERT(nvarchar(23), $value$, 121), N'' '', N''T'')'
        WHEN @type IN (N'datetime2', N'smalldatetime') THEN N'REPLACE(CONVERT(nvarchar(27), CAST($value$ AS datetime2(7)), 121), N'' '', N''T'')'
        WHEN @type = N'datetimeoffset' THEN N'REPLACE(CONVERT(nvarchar(27), CAST(SWITCHOFFSET($value$, N''+00:00'') AS datetime2(7)), 121), N'' '', N''T'')'
        WHEN @type = N'time' THEN N'CONVERT(nvarchar(16), CAST($value$ AS time(7)), 121)'
        WHEN @type IN (N'char', N'nchar') THEN N'RTRIM($value$)' ELSE N'$value$' END;
    -- A value with a point loses the zeros behind it, and the point if nothing is left there. None of them has a blank.
    IF @type IN (N'money', N'smallmoney', N'datetime', N'datetime2', N'smalldatetime', N'datetimeoffset', N'time') OR (@type IN (N'decimal', N'numeric') AND @scale > 0)
        SET @text = CONCAT(N'REPLACE(RTRIM(REPLACE(REPLACE(RTRIM(REPLACE(', @text, N', N''0'', N'' '')), N'' '', N''0''), N''.'', N'' '')), N'' '', N''.'')');
    SET @text = CASE
        WHEN @type IN (N'tinyint', N'smallint', N'int', N'bigint') THEN CONCAT(N'CONVERT(nvarchar(20), ', @text, N')')
        WHEN @type = N'bit' THEN CONCAT(N'CASE WHEN ', @text, N' = 1 THEN N''true'' ELSE N''false'' END')
        WHEN @type IN (N'decimal', N'numeric', N'money', N'smallmoney') THEN @text
        WHEN @type IN (N'float', N'real') THEN CONCAT(N'CONVERT(nvarchar(32), ', @text, N', 3)')
        WHEN @type = N'date' THEN CONCAT(N'N''"'' + CONVERT(nvarchar(10), ', @text, N', 23) + N''"''')
        WHEN @type IN (N'datetime', N'datetime2', N'smalldatetime', N'time') THEN CONCAT(N'N''"'' + ', @text, N' + N''"''')
        WHEN @type = N'datetimeoffset' THEN CONCAT(N'N''"'' + ', @text, N' + N''+00:00"''')
        WHEN @type = N'uniqueidentifier'
            THEN CONCAT(N'N''"'' + LOWER(CONVERT(nvarchar(36), ', @text, N') COLLATE Latin1_General_100_BIN2) + N''"''')
        WHEN @type IN (N'binary', N'varbinary', N'image', N'timestamp')  -- Base64 is FOR JSON's; what it escapes is the slash
            THEN CONCAT(N'REPLACE(STUFF(STUFF((SELECT CAST(', @text, N' AS varbinary(max)) AS v FOR JSON PATH, WITHOUT_ARRAY_WRAPPER), 1, 5, N''''), '
                + N'LEN((SELECT CAST(', @text, N' AS varbinary(max)) AS v FOR JSON PATH, WITHOUT_ARRAY_WRAPPER)) - 5, 1, N''''), N''\/'', N''/'')')
        WHEN @type = N'sql_variant'  -- a time in it would be written in the session's language
            THEN CONCAT(N'N''"'' + REPLACE(STRING_ESCAPE(CASE WHEN CAST(SQL_VARIANT_PROPERTY(', @text, N', N''BaseType'') AS nvarchar(128)) IN (N''date'', N''time'', N''datetime'', '
                + N'N''smalldatetime'', N''datetime2'', N''datetimeoffset'') THEN CONVERT(nvarchar(40), CAST(', @text, N' AS datetimeoffset(7)), 121) ELSE CONVERT(nvarchar(max), ', @text,
                N') END COLLATE Latin1_General_100_BIN2, N''json''), N''\/'', N''/'') + N''"''')
        ELSE CONCAT(N'N''"'' + REPLACE(STRING_ESCAPE(CONVERT(nvarchar(max), ', @text, N') COLLATE Latin1_General_100_BIN2, N''json''), N''\/'', N''/'') + N''"''') END;
    RETURN REPLACE(@text, N'$value$', @value);
END;
-- drop: DROP FUNCTION dms.tracked_json;

-- sql/sqlserver/functions/tracked_key.v1.sql: the columns of a tracked table's key, in order: place, the column (tracked_columns.v1.sql), its name in KeyValues; typed: the
-- expression that makes a value of the column of what OPENJSON gives as k.K<place>, of json_type, by which an index is sought: null where the column can have no such value,
-- since the document may be older than the column's type. No row where the key is gone.
CREATE FUNCTION dms.tracked_key (@tracked_id smallint)
RETURNS @key TABLE (
    place int NOT NULL PRIMARY KEY, index_id int NOT NULL, column_id int NOT NULL, name nvarchar(128) NOT NULL, quoted nvarchar(300) NOT NULL, type nvarchar(128) NOT NULL,
    scale int NOT NULL, declared nvarchar(300) NOT NULL, given nvarchar(300) NOT NULL, json_type nvarchar(300) NOT NULL, collation_name nvarchar(128) NULL,
    is_computed bit NOT NULL, property nvarchar(128) NOT NULL,
    typed nvarchar(600) NOT NULL)
AS
BEGIN
    DECLARE @relation int = dms.tracked_relation(@tracked_id), @index int, @name nvarchar(128), @properties nvarchar(max);
    SELECT @name = t.KeyName, @properties = t.Properties FROM dms.TrackedTable AS t WHERE t.TrackedTableId = @tracked_id;
    SELECT @index = MIN(i.index_id) FROM sys.indexes AS i
    WHERE i.object_id = @relation AND i.is_unique = 1 AND i.has_filter = 0 AND ((@name IS NULL AND i.is_primary_key = 1) OR i.name = @name COLLATE DATABASE_DEFAULT);
    INSERT INTO @key (place, index_id, column_id, name, quoted, type, scale, declared, given, json_type, collation_name, is_computed, property, typed)
    SELECT ic.key_ordinal, @index, c.column_id, c.name, c.quoted, c.type, c.scale, c.declared, c.given,
           CASE WHEN c.collation_name IS NOT NULL OR c.type IN (N'binary', N'varbinary') THEN c.given ELSE N'nvarchar(100)' END, c.collation_name, c.is_computed,
           COALESCE(p.value COLLATE DATABASE_DEFAULT, c.name),
           CASE WHEN c.type IN (N'char', N'varchar') THEN CONCAT(N'CAST(k.K', ic.key_ordinal, N' COLLATE ', c.collation_name, N' AS ', SUBSTRING(c.given, 2, 128), N')')
                WHEN c.collation_name IS NOT NULL THEN CONCAT(N'k.K', ic.key_ordinal, N' COLLATE ', c.collation_name)
                WHEN c.type IN (N'binary', N'varbinary') THEN CONCAT(N'k.K', ic.key_ordinal)
                ELSE CONCAT(N'TRY_CAST(k.K', ic.key_ordinal, N' AS ', c.given, N')') END
    FROM sys.index_columns AS ic
    INNER JOIN dms.tracked_columns(@relation) AS c ON c.column_id = ic.column_id
    LEFT JOIN OPENJSON(@properties) AS p ON CAST(p.[key] AS int) = ic.column_id
    WHERE ic.object_id = @relation AND ic.index_id = @index AND ic.key_ordinal > 0;
    -- A key that was made anew may have a column with the name that another one had.
    IF EXISTS (SELECT k.property FROM @key AS k GROUP BY k.property HAVING COUNT(*) > 1)
        UPDATE k SET property = k.name FROM @key AS k;
    RETURN;
END;
-- drop: DROP FUNCTION dms.tracked_key;

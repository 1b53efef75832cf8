-- sql/sqlserver/procedures/check_asked.v1.sql: checks the names that track is given, and whether the table can be tracked. @relation: its object id. Reads the catalog alone.
CREATE PROCEDURE dms.check_asked @table_name nvarchar(600), @shows nvarchar(max), @columns nvarchar(max), @key nvarchar(128), @relation int OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @message nvarchar(2048), @name nvarchar(600), @wrong nvarchar(128), @other nvarchar(600);
    SET @relation = CASE WHEN COALESCE(PARSENAME(@table_name, 3), DB_NAME()) = DB_NAME() THEN OBJECT_ID(@table_name) END;  -- in another database, an id can be that of another table
    IF @relation IS NULL
    BEGIN
        SELECT @other = LEFT(STRING_AGG(CAST(dms.tracked_name(t.object_id) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY t.object_id), 600)
        FROM sys.tables AS t WHERE t.name = PARSENAME(@table_name, 1) COLLATE DATABASE_DEFAULT;
        SET @message = CONCAT(N'table ', @table_name, N' is not there. ', N'Is it ' + @other + N'? ', N'Name it with its schema, as SQL has it: app.student, or app.[order line] where a name has a blank.');
        THROW 50011, @message, 1;
    END;
    EXEC dms.check_trackable @relation, @key;
    SET @name = dms.tracked_name(@relation);
    IF EXISTS (SELECT * FROM dms.TrackedTable AS t WHERE dms.tracked_relation(t.TrackedTableId) = @relation)
    BEGIN
        SET @message = CONCAT(N'table ', @name, N' is tracked already. To take in what has changed about it, use --renew (dms.renew_tracking); for other columns or another key, untrack it first.');
        THROW 50011, @message, 1;
    END;
    SELECT @wrong = MIN(given.value COLLATE DATABASE_DEFAULT)
    FROM (SELECT value FROM OPENJSON(@shows) UNION ALL SELECT value FROM OPENJSON(@columns)) AS given
    WHERE NOT EXISTS (SELECT * FROM sys.columns AS c WHERE c.object_id = @relation AND c.name = given.value COLLATE DATABASE_DEFAULT);
    IF @wrong IS NOT NULL
    BEGIN
        SELECT @message = LEFT(CONCAT(N'table ', @name, N' has no column ', @wrong, N'. Its columns are ', STRING_AGG(CAST(c.name AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY c.column_id), N'.'), 2048)
        FROM sys.columns AS c WHERE c.object_id = @relation;
        THROW 50011, @message, 1;
    END;
    SELECT @wrong = MIN(c.name) FROM dms.tracked_columns(@relation) AS c
    WHERE (c.is_readable = 0 OR c.type = N'timestamp') AND c.name IN (
        SELECT given.value COLLATE DATABASE_DEFAULT FROM (SELECT value FROM OPENJSON(@shows) UNION ALL SELECT value FROM OPENJSON(@columns)) AS given);
    IF @wrong IS NOT NULL
    BEGIN
        SET @message = CONCAT(N'table ', @name, N' cannot be tracked: no trigger can compare column ', @wrong, N', which is encrypted, or of type text, ntext, image or rowversion. Leave it out of what is shown and watched.');
        THROW 50010, @message, 1;
    END;
END;
-- drop: DROP PROCEDURE dms.check_asked;

-- sql/sqlserver/queries/operate/check_track.sql: checks the names that track.sql would be given, and whether the table can be tracked. Binds: table_name, shows,
-- columns (arrays of names, or null), key, trust, as track.sql. Gives: relation_id.
SET NOCOUNT ON;
DECLARE @table_name nvarchar(600) = :table_name, @shows nvarchar(max) = :shows, @columns nvarchar(max) = :columns, @key nvarchar(128) = :key, @trust bit = :trust, @relation int;
IF @trust IS NOT NULL
    EXEC dms.check_asked @table_name, @shows, @columns, @key, @relation OUTPUT;
SELECT @relation AS relation_id;

-- sql/sqlserver/procedures/note_tracked.v1.sql: checks what track is asked for, and writes it down; no lock on the table is taken. @relation: the table's object id.
-- @shows, @columns: JSON arrays of names, null where not given.
CREATE PROCEDURE dms.note_tracked
    @table_name nvarchar(600), @project nvarchar(256), @resource nvarchar(256), @version nvarchar(64), @shows nvarchar(max), @columns nvarchar(max),
    @key nvarchar(128), @bodies bit, @relation int OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @message nvarchar(2048), @name nvarchar(600), @kind smallint, @properties nvarchar(max), @other nvarchar(600);
    EXEC dms.check_asked @table_name, @shows, @columns, @key, @relation OUTPUT;
    SET @name = dms.tracked_name(@relation);
    SELECT @project = COALESCE(@project, OBJECT_SCHEMA_NAME(@relation)), @resource = COALESCE(@resource, OBJECT_NAME(@relation));
    INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion)
    SELECT new.ProjectName, new.ResourceName, new.ResourceVersion
    FROM (SELECT @project AS ProjectName, @resource AS ResourceName, @version AS ResourceVersion) AS new
    WHERE NOT EXISTS (
        SELECT * FROM dms.ResourceKey AS known WITH (UPDLOCK, HOLDLOCK)
        WHERE known.ProjectName = @project AND known.ResourceName = @resource AND known.ResourceVersion = @version);
    SELECT @kind = r.ResourceKeyId FROM dms.ResourceKey AS r WHERE r.ProjectName = @project AND r.ResourceName = @resource AND r.ResourceVersion = @version;
    SELECT @other = t.TableName FROM dms.TrackedTable AS t WHERE t.ResourceKeyId = @kind;
    IF @other IS NOT NULL
    BEGIN
        SET @message = CONCAT(N'resource ', @project, N' ', @resource, N' ', @version, N' is that of table ', @other, N' already. Give another resource.');
        THROW 50011, @message, 1;
    END;
    SELECT @properties = CONCAT(N'{', STRING_AGG(CAST(CONCAT(N'"', c.column_id, N'":"', STRING_ESCAPE(c.name, N'json'), N'"') AS nvarchar(max)), N',') WITHIN GROUP (ORDER BY ic.key_ordinal), N'}')
    FROM sys.indexes AS i
    INNER JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.key_ordinal > 0
    INNER JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
    WHERE i.object_id = @relation AND i.is_unique = 1 AND i.has_filter = 0 AND ((@key IS NULL AND i.is_primary_key = 1) OR i.name = @key COLLATE DATABASE_DEFAULT);
    INSERT INTO dms.TrackedTable (ResourceKeyId, RelationId, TableName, KeyName, Properties, ShownColumns, WatchedColumns, AllColumns, KeepsBodies, IsLinked, IsCurrent)
    SELECT @kind, @relation, @name, @key, @properties, @shows, @columns, dms.tracked_definitions(@relation), @bodies,
           told.is_empty, told.is_empty  -- documents of the resource that are there already are taken up: their rows may have changed
    FROM (SELECT CASE WHEN EXISTS (SELECT * FROM dms.Document AS d WHERE d.ResourceKeyId = @kind) THEN 0 ELSE 1 END AS is_empty) AS told;
    EXEC dms.check_trackable @relation, @key;  -- once more: what is shown and kept is known now
END;
-- drop: DROP PROCEDURE dms.note_tracked;

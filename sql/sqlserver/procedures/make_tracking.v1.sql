-- sql/sqlserver/procedures/make_tracking.v1.sql: makes what tracking a table is made of (tracking_of.v1.sql) as it should be now; nothing is touched that is so already,
-- since a trigger that is made waits for every writer of its table. The table's triggers go before its view, and come after it.
CREATE PROCEDURE dms.make_tracking @tracked_id smallint
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @relation int = dms.tracked_relation(@tracked_id), @place int = 0, @statement nvarchar(max), @before nvarchar(max);
    DECLARE @object TABLE (place int NOT NULL PRIMARY KEY, is_right bit NOT NULL, before nvarchar(max) NOT NULL, statement nvarchar(max) NOT NULL);
    -- A column that has another name now is found by its number, also where a table that refers to this one is renewed first.
    UPDATE t SET ShownColumns = dms.renamed_columns(t.ShownColumns, t.AllColumns, @relation), WatchedColumns = dms.renamed_columns(t.WatchedColumns, t.AllColumns, @relation)
    FROM dms.TrackedTable AS t WHERE t.TrackedTableId = @tracked_id AND t.RelationId = @relation;
    INSERT INTO @object (place, is_right, before, statement)
    SELECT o.place, CASE WHEN made.definition COLLATE Latin1_General_100_BIN2 = o.statement COLLATE Latin1_General_100_BIN2 AND COALESCE(made.is_disabled, 0) = 0 THEN 1 ELSE 0 END,
           CONCAT(N'DROP ', UPPER(o.kind COLLATE Latin1_General_100_BIN2), N' IF EXISTS ', CASE WHEN o.kind = N'trigger' THEN QUOTENAME(OBJECT_SCHEMA_NAME(@relation)) ELSE N'dms' END, N'.', o.name, N';'), o.statement
    FROM dms.tracking_of(@tracked_id) AS o
    LEFT JOIN (
        SELECT m.definition, g.is_disabled, x.name, x.parent_object_id, x.schema_id
        FROM sys.objects AS x INNER JOIN sys.sql_modules AS m ON m.object_id = x.object_id LEFT JOIN sys.triggers AS g ON g.object_id = x.object_id
    ) AS made ON made.name = o.name AND ((o.kind = N'trigger' AND made.parent_object_id = @relation) OR (o.kind <> N'trigger' AND made.schema_id = SCHEMA_ID(N'dms')));
    WHILE 1 = 1
    BEGIN
        SELECT @place = MIN(o.place) FROM @object AS o WHERE o.place > @place AND o.is_right = 0;
        IF @place IS NULL
            BREAK;
        SELECT @before = o.before, @statement = o.statement FROM @object AS o WHERE o.place = @place;
        EXEC sys.sp_executesql @before;
        EXEC dms.run_tracking @statement;
    END;
    -- Which resources refer to which: the first writer of a reference would note it, and keep others waiting until its transaction ends.
    INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
    SELECT DISTINCT parent.ResourceKeyId, f.child_kind
    FROM dms.tracked_references() AS f INNER JOIN dms.TrackedTable AS parent ON parent.TrackedTableId = f.parent_id
    WHERE @tracked_id IN (f.parent_id, f.child_id) AND NOT EXISTS (
        SELECT * FROM dms.ResourceDependency AS noted WHERE noted.ParentResourceKeyId = parent.ResourceKeyId AND noted.ChildResourceKeyId = f.child_kind);
    UPDATE t SET RelationId = @relation, TableName = dms.tracked_name(@relation), AllColumns = dms.tracked_definitions(@relation)
    FROM dms.TrackedTable AS t WHERE t.TrackedTableId = @tracked_id AND @relation IS NOT NULL;
END;
-- drop: DROP PROCEDURE dms.make_tracking;

-- sql/sqlserver/procedures/renew_tracking.v1.sql: takes in what has changed about a tracked table: columns, foreign keys, a trigger that is gone or off. Its fill begins again. What was written
-- while a trigger was missing or off, changes were not seen: then, where kept bodies have other properties, and with @unseen, all of its documents are stamped.
-- A column that was renamed goes on as what it was: the server keeps its number.
CREATE PROCEDURE dms.renew_tracking @table_name nvarchar(600), @unseen bit = 0, @trust bit = 0
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    SET XACT_ABORT ON;
    DECLARE @tracked_id smallint, @relation int, @key nvarchar(128), @is_own bit = 0, @neighbours nvarchar(max), @is_seen bit = 1, @message nvarchar(2048);
    DECLARE @wait int = TRY_CAST(SESSION_CONTEXT(N'dmsjournal.lock_timeout') AS int), @statement nvarchar(max);
    IF @wait IS NOT NULL  -- queries/operate/track_lock_timeout.sql
    BEGIN
        EXEC sys.sp_set_session_context N'dmsjournal.lock_timeout', NULL;
        SET @statement = CONCAT(N'SET LOCK_TIMEOUT ', @wait, N';
EXEC dms.renew_tracking @table_name, @unseen, @trust;');
        EXEC sys.sp_executesql @statement, N'@table_name nvarchar(600), @unseen bit, @trust bit',
            @table_name, @unseen, @trust;
        RETURN;
    END;
    IF @@LOCK_TIMEOUT = -1
        SET LOCK_TIMEOUT 5000;
    IF @trust = 1
    BEGIN
        SET @message = CONCAT(N'table ', @table_name, N' cannot be tracked: SQL Server has no use for trust, since a tracked table has to belong to the owner of schema dms. Leave it out.');
        THROW 50010, @message, 1;
    END;
    IF @@TRANCOUNT = 0
    BEGIN
        SET @is_own = 1;
        BEGIN TRANSACTION;
    END;
    EXEC dms.begin_tracking;
    EXEC dms.check_tracked @table_name, @tracked_id OUTPUT;
    SELECT @relation = dms.tracked_relation(@tracked_id), @key = t.KeyName FROM dms.TrackedTable AS t WHERE t.TrackedTableId = @tracked_id;
    IF NOT EXISTS (SELECT * FROM dms.tracked_key(@tracked_id) AS k)
    BEGIN
        SET @message = CONCAT(N'table ', @table_name, N' cannot be tracked: it, or its key, is gone. Run dmsjournal untrack with it.');
        THROW 50010, @message, 1;
    END;
    EXEC dms.check_trackable @relation, @key;
    SELECT @is_seen = CASE WHEN COUNT(*) = 3 THEN 1 ELSE 0 END
    FROM sys.triggers AS g INNER JOIN sys.sql_modules AS m ON m.object_id = g.object_id
    WHERE g.parent_id = @relation AND g.is_disabled = 0
      AND g.name IN (CONCAT(N'zz_dmsjournal_', @tracked_id, N'_insert'), CONCAT(N'zz_dmsjournal_', @tracked_id, N'_update'), CONCAT(N'zz_dmsjournal_', @tracked_id, N'_delete'));
    IF OBJECT_ID(CONCAT(N'dms.tracked_', @tracked_id)) IS NULL
        SET @is_seen = 0;
    IF EXISTS (SELECT * FROM dms.TrackedTable AS t WHERE t.TrackedTableId = @tracked_id AND t.KeepsBodies = 1
                 AND t.AllColumns COLLATE Latin1_General_100_BIN2 <> dms.tracked_definitions(@relation) COLLATE Latin1_General_100_BIN2)
        SET @is_seen = 0;  -- kept bodies have other properties now
    EXEC dms.make_tracking @tracked_id;
    SET @neighbours = dms.tracked_neighbours(@tracked_id);
    EXEC dms.make_neighbours @neighbours;
    UPDATE t SET FilledAt = NULL, FilledKey = NULL, SeenRows = 0, FilledRows = 0, FilledDocument = NULL, IsLinked = 0,
        IsCurrent = CASE WHEN t.IsCurrent = 1 AND @is_seen = 1 AND @unseen = 0 THEN 1 ELSE 0 END
    FROM dms.TrackedTable AS t WHERE t.TrackedTableId = @tracked_id;
    IF @is_own = 1
        COMMIT;
END;
-- drop: DROP PROCEDURE dms.renew_tracking;

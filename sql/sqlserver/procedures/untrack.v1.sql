-- sql/sqlserver/procedures/untrack.v1.sql: tracks a table no more. @keep_documents: its documents stay as they are. Without it they are deleted, each with its tombstone. Tables that refer to
-- it lose their edges to it.
CREATE PROCEDURE dms.untrack @table_name nvarchar(600), @keep_documents bit = 0
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    SET XACT_ABORT ON;
    DECLARE @tracked_id smallint, @kind smallint, @is_own bit = 0, @neighbours nvarchar(max), @ids nvarchar(max);
    DECLARE @wait int = TRY_CAST(SESSION_CONTEXT(N'dmsjournal.lock_timeout') AS int), @statement nvarchar(max);
    IF @wait IS NOT NULL  -- queries/operate/track_lock_timeout.sql
    BEGIN
        EXEC sys.sp_set_session_context N'dmsjournal.lock_timeout', NULL;
        SET @statement = CONCAT(N'SET LOCK_TIMEOUT ', @wait, N';
EXEC dms.untrack @table_name, @keep_documents;');
        EXEC sys.sp_executesql @statement, N'@table_name nvarchar(600), @keep_documents bit',
            @table_name, @keep_documents;
        RETURN;
    END;
    IF @@LOCK_TIMEOUT = -1
        SET LOCK_TIMEOUT 5000;
    IF @@TRANCOUNT = 0
    BEGIN
        SET @is_own = 1;
        BEGIN TRANSACTION;
    END;
    EXEC dms.begin_tracking;
    EXEC dms.check_tracked @table_name, @tracked_id OUTPUT;
    SET @neighbours = dms.tracked_neighbours(@tracked_id);  -- nothing tells them once it has gone
    SELECT @kind = t.ResourceKeyId FROM dms.TrackedTable AS t WHERE t.TrackedTableId = @tracked_id;
    EXEC dms.drop_tracking @tracked_id;
    DELETE FROM dms.TrackedTable WHERE TrackedTableId = @tracked_id;
    DELETE FROM dms.TrackedLate WHERE TrackedTableId = @tracked_id;
    EXEC dms.make_neighbours @neighbours;
    WHILE @keep_documents = 0
    BEGIN
        SELECT @ids = CONCAT(N'[', STRING_AGG(CAST(d.DocumentId AS nvarchar(max)), N','), N']')
        FROM (SELECT TOP (2000) d.DocumentId FROM dms.Document AS d WHERE d.ResourceKeyId = @kind ORDER BY d.DocumentId) AS d;
        IF @ids = N'[]'
            BREAK;
        EXEC dms.remove_tracked @ids;
    END;
    IF @is_own = 1
        COMMIT;
END;
-- drop: DROP PROCEDURE dms.untrack;

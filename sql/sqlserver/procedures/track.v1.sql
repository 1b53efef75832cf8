-- sql/sqlserver/procedures/track.v1.sql: tracks a table: each row is a document from now on, each foreign key to or from a tracked table an edge. The rows that are there already come by
-- fill_tracked, which is called until it is done. Arguments (docs/dba/track.md):
-- @table_name: with its schema, as SQL has it. @project, @resource, @version: the resource; the schema's and the table's name and 1 without them.
-- @shows: what referring rows show of a row, besides its key and what foreign keys refer to. @columns: what is watched; all without it. Both are JSON arrays of names.
-- @key: a unique constraint or index in place of the primary key. @bodies: keep each row as JSON in dms.DocumentCache.
-- @trust: on PostgreSQL, for tables of other roles; here there is none.
CREATE PROCEDURE dms.track
    @table_name nvarchar(600), @project nvarchar(256) = NULL, @resource nvarchar(256) = NULL, @version nvarchar(64) = N'1', @shows nvarchar(max) = NULL,
    @columns nvarchar(max) = NULL, @key nvarchar(128) = NULL, @bodies bit = 0, @trust bit = 0, @tracked_id smallint = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    SET XACT_ABORT ON;
    DECLARE @relation int, @is_own bit = 0, @neighbours nvarchar(max), @message nvarchar(2048);
    DECLARE @parent TABLE (TrackedTableId smallint NOT NULL);
    DECLARE @wait int = TRY_CAST(SESSION_CONTEXT(N'dmsjournal.lock_timeout') AS int), @statement nvarchar(max);
    IF @wait IS NOT NULL  -- queries/operate/track_lock_timeout.sql
    BEGIN
        EXEC sys.sp_set_session_context N'dmsjournal.lock_timeout', NULL;
        SET @statement = CONCAT(N'SET LOCK_TIMEOUT ', @wait, N';
EXEC dms.track @table_name, @project, @resource, @version, @shows, @columns, @key, @bodies, @trust, @tracked_id OUTPUT;');
        EXEC sys.sp_executesql @statement, N'@table_name nvarchar(600), @project nvarchar(256), @resource nvarchar(256), @version nvarchar(64), @shows nvarchar(max), @columns nvarchar(max), @key nvarchar(128), @bodies bit, @trust bit, @tracked_id smallint OUTPUT',
            @table_name, @project, @resource, @version, @shows, @columns, @key, @bodies, @trust, @tracked_id OUTPUT;
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
    EXEC dms.note_tracked @table_name, @project, @resource, @version, @shows, @columns, @key, @bodies, @relation OUTPUT;
    SELECT @tracked_id = t.TrackedTableId FROM dms.TrackedTable AS t WHERE t.RelationId = @relation;
    EXEC dms.make_tracking @tracked_id;
    SET @neighbours = dms.tracked_neighbours(@tracked_id);
    EXEC dms.make_neighbours @neighbours;
    -- Tables that refer to this one have edges to make: their fills go over them once more.
    INSERT INTO @parent (TrackedTableId) SELECT f.parent_id FROM dms.tracked_references() AS f WHERE f.child_id = @tracked_id AND f.parent_id <> @tracked_id;
    UPDATE t SET FilledAt = NULL, FilledKey = NULL, SeenRows = 0, FilledRows = 0, FilledDocument = NULL, IsLinked = 0
    FROM dms.TrackedTable AS t
    WHERE EXISTS (SELECT * FROM @parent AS parent WHERE parent.TrackedTableId = t.TrackedTableId);
    IF @is_own = 1
        COMMIT;
END;
-- drop: DROP PROCEDURE dms.track;

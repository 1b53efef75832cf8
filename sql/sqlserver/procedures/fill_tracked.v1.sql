-- sql/sqlserver/procedures/fill_tracked.v1.sql: one batch of a fill, in a transaction of its own; call it until @is_done is 1. A block is 64 rows here; a batch has 2,000 at most, below the
-- number at which the server locks a whole table.
-- Passes over the rows, in the order of their keys, make documents for rows that have none, until one finds no such row: a row that a writer had locked comes with the
-- next one. The last pass is over the documents (sweep, functions/tracking_text.v1.sql). A run that is killed goes on from its last batch.
-- @pass: rows or documents. @done of @total: blocks; documents are not counted: 0 of 0. @made: documents.
CREATE PROCEDURE dms.fill_tracked
    @table_name nvarchar(600), @blocks int = 16, @is_done bit = NULL OUTPUT, @pass nvarchar(16) = NULL OUTPUT, @done bigint = NULL OUTPUT, @total bigint = NULL OUTPUT,
    @made int = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    SET XACT_ABORT ON;
    SET DEADLOCK_PRIORITY LOW;  -- a writer goes on, and the fill is run again
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;  -- a row's lock that was waited for shows what was written meanwhile
    DECLARE @tracked_id smallint, @is_own bit = 0, @filled_at datetime2(7), @filled_document bigint, @filled_key nvarchar(max), @is_linked bit, @is_current bit, @filled_rows bigint,
            @seen_rows bigint, @last bigint, @last_key nvarchar(max), @statement nvarchar(400), @rows int, @seen int, @passed int, @is_end bit;
    SET @rows = CASE WHEN @blocks > 31 THEN 2000 ELSE @blocks * 64 END;
    SELECT @is_done = 0, @made = 0;
    IF @@TRANCOUNT = 0
    BEGIN
        SET @is_own = 1;
        BEGIN TRANSACTION;
    END;
    EXEC dms.check_tracked @table_name, @tracked_id OUTPUT;
    SELECT @filled_at = t.FilledAt, @filled_document = t.FilledDocument, @filled_key = t.FilledKey, @is_linked = t.IsLinked, @is_current = t.IsCurrent, @filled_rows = t.FilledRows,
           @seen_rows = t.SeenRows
    FROM dms.TrackedTable AS t WITH (UPDLOCK, ROWLOCK) WHERE t.TrackedTableId = @tracked_id;
    IF @filled_at IS NOT NULL
        SET @is_done = 1;
    ELSE IF @filled_document IS NOT NULL
    BEGIN
        SET @statement = CONCAT(N'EXEC dms.tracked_', @tracked_id, N'_sweep @after, @is_linked, @is_current;');
        EXEC sys.sp_executesql @statement, N'@after bigint, @is_linked bit, @is_current bit', @filled_document, @is_linked, @is_current;
        SELECT @last = t.FilledDocument FROM dms.TrackedTable AS t WHERE t.TrackedTableId = @tracked_id;
        UPDATE dms.TrackedTable
        SET IsLinked = CASE WHEN @last IS NULL THEN 1 ELSE IsLinked END, IsCurrent = CASE WHEN @last IS NULL THEN 1 ELSE IsCurrent END,
            FilledAt = CASE WHEN @last IS NULL THEN SYSUTCDATETIME() END, FilledRows = 0, SeenRows = 0, FilledKey = NULL
        WHERE TrackedTableId = @tracked_id;
        SELECT @pass = N'documents', @done = 0, @total = 0;
    END;
    ELSE
    BEGIN
        SET @statement = CONCAT(N'EXEC dms.tracked_', @tracked_id, N'_fill @after, @rows;');
        EXEC sys.sp_executesql @statement, N'@after nvarchar(max), @rows int', @filled_key, @rows;
        SELECT @last_key = t.FilledKey, @seen = t.BatchRows, @made = t.BatchMade, @passed = t.BatchPassed FROM dms.TrackedTable AS t WHERE t.TrackedTableId = @tracked_id;
        SELECT @is_end = CASE WHEN @seen < @rows THEN 1 ELSE 0 END, @filled_rows = @filled_rows + @made + @passed, @seen_rows = @seen_rows + @seen;
        UPDATE dms.TrackedTable
        SET FilledKey = CASE WHEN @is_end = 1 THEN NULL ELSE @last_key END, SeenRows = CASE WHEN @is_end = 1 THEN 0 ELSE @seen_rows END,
            FilledRows = CASE WHEN @is_end = 1 THEN 0 ELSE @filled_rows END,
            FilledDocument = CASE WHEN @is_end = 1 AND @filled_rows = 0 THEN CAST(-9223372036854775808 AS bigint) END
        WHERE TrackedTableId = @tracked_id;
        SELECT @total = COALESCE(SUM(p.rows), 0) FROM sys.partitions AS p WHERE p.object_id = dms.tracked_relation(@tracked_id) AND p.index_id IN (0, 1);
        SELECT @seen_rows = (@seen_rows + 63) / 64, @total = (@total + 63) / 64;
        SET @total = CASE WHEN @is_end = 1 THEN @seen_rows WHEN @total > @seen_rows THEN @total ELSE @seen_rows + 1 END;
        SELECT @pass = N'rows', @done = @seen_rows;
    END;
    IF @is_own = 1
        COMMIT;
END;
-- drop: DROP PROCEDURE dms.fill_tracked;

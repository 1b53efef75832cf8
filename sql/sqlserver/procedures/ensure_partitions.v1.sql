-- sql/sqlserver/procedures/ensure_partitions.v1.sql: option partitions: takes the next step, if there is one, towards bounds for the next
-- @ahead * @versions versions; then bounds between parts that a prune has emptied go. @step tells the step, null that there is nothing left.
-- Call it in a transaction of its own, again and again. The bounds that it adds are multiples of @versions.
-- A bound waits for everybody on the journals, and is there at once where the last part is empty. Where it is not, because this was called
-- too late, the server reads that part meanwhile; no row is moved, since the bound is above the last stamp.
CREATE PROCEDURE dms.ensure_partitions @versions bigint, @ahead int, @step nvarchar(128) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    SET LOCK_TIMEOUT 1500;
    DECLARE @newest bigint, @last decimal(38, 0), @next decimal(38, 0), @bound bigint, @lowest bigint, @second bigint;
    IF @@TRANCOUNT = 0  -- each of the two statements that add a bound would commit by itself
        THROW 50008, N'parts are added in a transaction, and none is open. BEGIN TRANSACTION first.', 1;
    SET @step = NULL;
    EXEC dms.newest_stamp @newest OUTPUT;
    SELECT @last = MAX(CAST(value AS bigint)), @lowest = MIN(CAST(value AS bigint))
    FROM sys.partition_range_values
    WHERE function_id = (SELECT function_id FROM sys.partition_functions WHERE name = N'dmsjournal_versions');
    SET @next = CASE WHEN @last > @newest THEN @last ELSE CAST(@newest AS decimal(38, 0)) + 1 END;
    SET @next = (@next - @next % @versions) + @versions;
    IF COALESCE(@last, 0) <= @newest + @ahead * CAST(@versions AS decimal(38, 0)) AND @next < CAST(9223372036854775807 AS bigint)
    BEGIN
        SET @bound = @next;
        ALTER PARTITION SCHEME dmsjournal_versions NEXT USED [PRIMARY];
        ALTER PARTITION FUNCTION dmsjournal_versions() SPLIT RANGE (@bound);
        SET @step = CONCAT(N'added ', @bound);
        RETURN;
    END;
    SELECT @second = MIN(CAST(value AS bigint))
    FROM sys.partition_range_values
    WHERE function_id = (SELECT function_id FROM sys.partition_functions WHERE name = N'dmsjournal_versions') AND CAST(value AS bigint) > @lowest;
    IF @second <= @newest
       AND NOT EXISTS (SELECT 1 FROM dms.DocumentChangeEvent WHERE ChangeVersion < @second)
       AND NOT EXISTS (SELECT 1 FROM dms.IdentityChangeEvent WHERE ChangeVersion < @second)
       AND NOT EXISTS (SELECT 1 FROM dms.KeyChangeEvent WHERE ChangeVersion < @second)
       AND NOT EXISTS (SELECT 1 FROM dms.DocumentDeleteEvent WHERE ChangeVersion < @second)
    BEGIN
        ALTER PARTITION FUNCTION dmsjournal_versions() MERGE RANGE (@lowest);
        SET @step = CONCAT(N'removed ', @lowest);
    END;
END;
-- drop: DROP PROCEDURE dms.ensure_partitions;

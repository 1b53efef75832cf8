-- sql/sqlserver/procedures/drop_partition.v1.sql: option partitions: empties a part of a journal that lies at or below its floor, in a time that does
-- not depend on its rows. 1222 where the journal is being read: the caller tries again, nobody queues behind it for long.
-- The floor was raised and committed before, so whoever looks at it after the rows is told (invariant 8). A SNAPSHOT transaction that began
-- before would miss rows and see the old floor: the journal's definition is touched, for which the server ends it with 3961.
-- The foreign key that refuses TRUNCATE (TruncateGuard) goes and comes in the same transaction: without one it is refused, since each statement
-- would commit by itself. Its rights are the owner's, for a pruner.
-- The first ALTER TABLE takes the lock (Sch-M) that adding and removing bounds waits for: only then is the part's number certain.
CREATE PROCEDURE dms.drop_partition @journal nvarchar(64), @last_version bigint
WITH EXECUTE AS OWNER
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    SET XACT_ABORT ON;
    SET LOCK_TIMEOUT 100;
    DECLARE @floor bigint, @number nvarchar(16), @columns nvarchar(64), @statement nvarchar(max), @message nvarchar(2048), @is_bare bit;
    IF @@TRANCOUNT = 0
        THROW 50008, N'a part is emptied in a transaction, and none is open. BEGIN TRANSACTION first.', 1;
    IF @journal NOT IN (N'DocumentChangeEvent', N'IdentityChangeEvent', N'KeyChangeEvent', N'DocumentDeleteEvent')
        RETURN;
    SET @statement = CONCAT(N'ALTER TABLE dms.', QUOTENAME(@journal), N' SET (LOCK_ESCALATION = TABLE);');
    EXEC sys.sp_executesql @statement;
    SELECT @number = Partition FROM dms.JournalPartition WHERE Journal = @journal AND HighVersion = @last_version + 1;
    IF @number IS NULL
        RETURN;
    SELECT @floor = ChangeVersion FROM dms.JournalFloor WHERE Journal = @journal;
    IF @floor IS NULL OR @last_version > @floor
    BEGIN
        SET @message = CONCAT(N'a part of dms.', @journal, N' reaches to version ', @last_version, N', above its floor ', @floor,
                              N'. Use dmsjournal prune: it raises the floor first.');
        THROW 50003, @message, 1;
    END;
    SET @columns = CASE WHEN @journal IN (N'DocumentChangeEvent', N'IdentityChangeEvent') THEN N'ChangeVersion, DocumentId' ELSE N'ChangeVersion' END;
    SET @statement = CONCAT(
        N'ALTER TABLE dms.TruncateGuard DROP CONSTRAINT FK_TruncateGuard_', @journal, N';
TRUNCATE TABLE dms.', @journal, N' WITH (PARTITIONS (', @number, N'));
ALTER TABLE dms.TruncateGuard ADD CONSTRAINT FK_TruncateGuard_', @journal, N' FOREIGN KEY (', @columns, N') REFERENCES dms.', @journal,
        N' (', @columns, N');
SET @is_bare = CASE WHEN EXISTS (SELECT 1 FROM dms.', @journal, N' WHERE ChangeVersion <= @floor) THEN 0 ELSE 1 END;');
    EXEC sys.sp_executesql @statement, N'@floor bigint, @is_bare bit OUTPUT', @floor, @is_bare OUTPUT;
    IF @is_bare = 1  -- from here on a row down there contradicts the floor
        UPDATE dms.JournalFloor SET PrunedAt = SYSUTCDATETIME() WHERE Journal = @journal;
END;
GO
-- Who may delete the journal's events may drop a part of them.
DECLARE @pruner sysname, @statement nvarchar(max);
DECLARE pruners CURSOR LOCAL STATIC FOR
SELECT DISTINCT USER_NAME(grantee_principal_id) FROM sys.database_permissions
WHERE class = 1 AND major_id = OBJECT_ID(N'dms.DocumentChangeEvent') AND permission_name = N'DELETE' AND state IN ('G', 'W');
OPEN pruners;
FETCH NEXT FROM pruners INTO @pruner;
WHILE @@FETCH_STATUS = 0
BEGIN
    SET @statement = CONCAT(N'GRANT EXECUTE ON dms.drop_partition TO ', QUOTENAME(@pruner), N'; GRANT SELECT ON dms.JournalPartition TO ', QUOTENAME(@pruner), N';');
    EXEC sys.sp_executesql @statement;
    FETCH NEXT FROM pruners INTO @pruner;
END;
CLOSE pruners;
DEALLOCATE pruners;
-- drop: DROP PROCEDURE dms.drop_partition;

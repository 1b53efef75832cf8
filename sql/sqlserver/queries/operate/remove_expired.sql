-- sql/sqlserver/queries/operate/remove_expired.sql: removes events at or below their journal's floor, where pruning says that there are none.
-- Binds: size (rows of each journal, 1 to 4,000: no table lock). Gives: rows, how many went.
-- Plan:  ranges of the journals' primary keys.
SET NOCOUNT ON;
DECLARE @size bigint = :size, @rows bigint = 0, @floor bigint;
SELECT @floor = MAX(ChangeVersion) FROM dms.JournalFloor WHERE Journal = N'DocumentChangeEvent' AND PrunedAt IS NOT NULL;
DELETE TOP (@size) FROM dms.DocumentChangeEvent WHERE ChangeVersion <= @floor;
SET @rows = @rows + @@ROWCOUNT;
SET @floor = NULL;
SELECT @floor = MAX(ChangeVersion) FROM dms.JournalFloor WHERE Journal = N'IdentityChangeEvent' AND PrunedAt IS NOT NULL;
DELETE TOP (@size) FROM dms.IdentityChangeEvent WHERE ChangeVersion <= @floor;
SET @rows = @rows + @@ROWCOUNT;
SET @floor = NULL;
SELECT @floor = MAX(ChangeVersion) FROM dms.JournalFloor WHERE Journal = N'KeyChangeEvent' AND PrunedAt IS NOT NULL;
DELETE TOP (@size) FROM dms.KeyChangeEvent WHERE ChangeVersion <= @floor;
SET @rows = @rows + @@ROWCOUNT;
SET @floor = NULL;
SELECT @floor = MAX(ChangeVersion) FROM dms.JournalFloor WHERE Journal = N'DocumentDeleteEvent' AND PrunedAt IS NOT NULL;
DELETE TOP (@size) FROM dms.DocumentDeleteEvent WHERE ChangeVersion <= @floor;
SET @rows = @rows + @@ROWCOUNT;
SELECT @rows AS rows;

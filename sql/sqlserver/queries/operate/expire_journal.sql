-- sql/sqlserver/queries/operate/expire_journal.sql: what a journal has lost is recorded as expiry: its floor becomes a stamp of its own, so that
-- whoever goes on from before it is told to read in full. Runs after enter_change. PrunedAt is null: no row was removed up to there.
-- Binds: journal.
SET NOCOUNT ON;
DECLARE @journal nvarchar(64) = :journal, @floor bigint;
SET @floor = NEXT VALUE FOR dms.ChangeVersionSequence;
UPDATE dms.JournalFloor
SET ChangeVersion = CASE WHEN ChangeVersion > @floor THEN ChangeVersion ELSE @floor END, PrunedAt = NULL
WHERE Journal = @journal;
IF @@ROWCOUNT = 0
    INSERT INTO dms.JournalFloor (Journal, ChangeVersion) VALUES (@journal, @floor);

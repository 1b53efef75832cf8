-- sql/sqlserver/queries/operate/prune_begin.sql: begins a batch: no consumer is registered or moved until it ends, so that each consumer that is
-- there afterwards was heeded, or sees the floor.
SET NOCOUNT ON;
DECLARE @journals int;
SELECT @journals = COUNT(*) FROM dms.JournalFloor;  -- begins the transaction, which no procedure call does by itself
EXEC dms.lock_consumers N'Exclusive';

-- sql/sqlserver/queries/operate/ensure_partitions.sql: option partitions: takes the next step towards parts for the versions to come; no row where there is
-- nothing left to do. Run it in a transaction of its own.
-- Binds: versions (of a part, 1 or more); ahead (parts, 1 or more). Gives: journal (all of them have the same bounds), step.
SET NOCOUNT ON;
DECLARE @versions bigint = :versions, @ahead int = :ahead, @step nvarchar(128), @journals int;
SELECT @journals = COUNT(*) FROM dms.JournalFloor;  -- begins the transaction, which no procedure call does by itself
EXEC dms.ensure_partitions @versions, @ahead, @step OUTPUT;
SELECT N'all' AS journal, @step AS step WHERE @step IS NOT NULL;

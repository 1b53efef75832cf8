-- sql/sqlserver/queries/operate/prune_drop.sql: option partitions: empties a part of a journal that is at or below its floor. Run it in a transaction of its own.
-- Binds: journal; partition (its last version, as prune_partitions.sql gives it); readers (of no use here). Gives: dropped.
SET NOCOUNT ON;
DECLARE @journal nvarchar(64) = :journal, @last_version bigint = CAST(:partition AS bigint), @readers nvarchar(max) = :readers, @journals int;
SELECT @journals = COUNT(*) FROM dms.JournalFloor;  -- begins the transaction, which no procedure call does by itself
EXEC dms.drop_partition @journal, @last_version;
SELECT CAST(1 AS bit) AS dropped;

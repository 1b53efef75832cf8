-- sql/sqlserver/queries/operate/prune_expire.sql: option partitions: raises the floor of a journal to the end of parts that are going to be dropped; runs after
-- prune_begin. PrunedAt is null meanwhile: rows are there yet, and the floor says already that they are not served.
-- Binds: journal; version (inclusive). Gives: floor.
SET NOCOUNT ON;
DECLARE @journal nvarchar(64) = :journal, @version bigint = :version;
UPDATE dms.JournalFloor SET ChangeVersion = @version, PrunedAt = NULL WHERE Journal = @journal AND ChangeVersion < @version;
SELECT ChangeVersion AS floor FROM dms.JournalFloor WHERE Journal = @journal;

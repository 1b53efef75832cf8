-- sql/sqlserver/queries/operate/prune_partitions.sql: option partitions: the parts of a journal that hold rows, and no version above one, in order; none where the
-- user may not drop them.
-- Binds: journal; through (inclusive). Gives: partition; last_version; rows (estimated).
SET NOCOUNT ON;
DECLARE @journal nvarchar(64) = :journal, @through bigint = :through;
SELECT CAST(part.HighVersion - 1 AS nvarchar(32)) AS partition, part.HighVersion - 1 AS last_version, stored.rows
FROM dms.JournalPartition AS part
INNER JOIN sys.partitions AS stored
    ON stored.object_id = OBJECT_ID(N'dms.' + part.Journal) AND stored.index_id = 1 AND stored.partition_number = CAST(part.Partition AS int)
WHERE part.Journal = @journal AND part.HighVersion - 1 <= @through AND stored.rows > 0
  AND HAS_PERMS_BY_NAME(N'dms.drop_partition', N'OBJECT', N'EXECUTE') = 1
ORDER BY part.HighVersion;

-- sql/sqlserver/queries/operate/partitions.sql: option partitions: the parts of each journal, in order, the default one, which has no end, last.
-- Gives: journal; partition; low (inclusive; null: from the beginning on), high (exclusive; null for the default part); rows (estimated); bytes,
--   with indexes.
SELECT part.Journal AS journal, part.Partition AS partition, part.LowVersion AS low, part.HighVersion AS high, part.IsDefault AS is_default,
       sized.rows, sized.bytes
FROM dms.JournalPartition AS part
CROSS APPLY (
    SELECT SUM(CASE WHEN stored.index_id = 1 AND unit.type = 1 THEN stored.rows ELSE 0 END) AS rows, SUM(unit.total_pages) * 8192 AS bytes
    FROM sys.partitions AS stored
    INNER JOIN sys.allocation_units AS unit
        ON unit.container_id = CASE WHEN unit.type = 2 THEN stored.partition_id ELSE stored.hobt_id END  -- 2: large values
    WHERE stored.object_id = OBJECT_ID(N'dms.' + part.Journal) AND stored.partition_number = CAST(part.Partition AS int)) AS sized
ORDER BY part.Journal, part.IsDefault, part.HighVersion;

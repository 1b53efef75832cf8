-- sql/postgres/queries/operate/missing_parts.sql: option partitions: the parts that journals were given, hold versions above the floor, and are no
-- partitions of them any more, or with other bounds. Gives: journal, partition, low (inclusive; null: from the beginning on), high
-- (exclusive; both null of the default part).
SELECT known.Journal AS journal, known.Partition AS partition, known.LowVersion AS low, known.HighVersion AS high
FROM dms.KnownPartition AS known
LEFT JOIN dms.JournalFloor AS floor ON floor.Journal = known.Journal
WHERE (known.HighVersion IS NULL OR known.HighVersion - 1 > coalesce(floor.ChangeVersion, 0))
  AND NOT EXISTS (
      SELECT FROM dms.JournalPartition AS part
      JOIN pg_inherits AS link ON link.inhrelid = to_regclass(format('dms.%I', part.Partition)) AND NOT link.inhdetachpending
      WHERE part.Journal = known.Journal AND part.Partition = known.Partition
        AND part.LowVersion IS NOT DISTINCT FROM known.LowVersion AND part.HighVersion IS NOT DISTINCT FROM known.HighVersion)
ORDER BY known.Journal, known.HighVersion

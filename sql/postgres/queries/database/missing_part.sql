-- sql/postgres/queries/database/missing_part.sql: option partitions: the first part that a window of versions needs, and that is no partition of
-- its journal any more. Runs after the window was read: a part that goes later was read.
-- Binds: journals (JSON array); first, last (inclusive). Gives: journal, partition, low (inclusive), high (exclusive); no row where all are there.
-- Plan: a range of UX_KnownPartition_HighVersion, of the parts in the window; the planner has looked at each of them to read it.
SELECT known.Journal AS journal, known.Partition AS partition, known.LowVersion AS low, known.HighVersion AS high
FROM jsonb_array_elements_text(CAST(:journals AS jsonb)) AS wanted (journal)
CROSS JOIN LATERAL (
    (SELECT Journal, Partition, LowVersion, HighVersion FROM dms.KnownPartition
     WHERE Journal = wanted.journal AND HighVersion > CAST(:first AS bigint)
       AND HighVersion <= coalesce((SELECT min(above.HighVersion) FROM dms.KnownPartition AS above
                                    WHERE above.Journal = wanted.journal AND above.HighVersion > CAST(:last AS bigint)), 9223372036854775807))
    UNION ALL
    SELECT Journal, Partition, LowVersion, HighVersion FROM dms.KnownPartition WHERE Journal = wanted.journal AND HighVersion IS NULL
) AS known
WHERE NOT EXISTS (
    SELECT FROM pg_inherits AS link
    WHERE link.inhrelid = to_regclass(format('dms.%I', known.Partition)) AND link.inhparent = to_regclass('dms.' || known.Journal)
      AND NOT link.inhdetachpending)
ORDER BY known.HighVersion, known.Journal
LIMIT 1

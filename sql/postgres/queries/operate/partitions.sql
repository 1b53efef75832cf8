-- sql/postgres/queries/operate/partitions.sql: option partitions: the parts of each journal, in order, the default one last. No journal is read.
-- Gives: journal; partition; low (inclusive; null: from the beginning on), high (exclusive), both null for the default part; rows (estimated as
--   status_journals.sql does); bytes, with indexes.
SELECT part.Journal AS journal, part.Partition AS partition, part.LowVersion AS low, part.HighVersion AS high, part.IsDefault AS is_default,
       CAST(CASE WHEN coalesce(pg_stat_get_last_analyze_time(class.oid), pg_stat_get_last_autoanalyze_time(class.oid),
                               pg_stat_get_last_vacuum_time(class.oid), pg_stat_get_last_autovacuum_time(class.oid)) IS NOT NULL
                 THEN pg_stat_get_live_tuples(class.oid)
                 WHEN class.reltuples > 0 AND class.relpages > 0
                 THEN class.reltuples * (pg_relation_size(class.oid) / current_setting('block_size')::integer) / class.relpages
                 ELSE pg_stat_get_live_tuples(class.oid) END AS bigint) AS rows,
       pg_total_relation_size(class.oid) AS bytes
FROM dms.JournalPartition AS part
JOIN pg_class AS class ON class.oid = to_regclass(format('dms.%I', part.Partition))
ORDER BY part.Journal, part.IsDefault, part.HighVersion

-- sql/postgres/queries/operate/prune_partitions.sql: option partitions: the parts of a journal that hold no version above one, in order; none where the role may
-- not drop them.
-- Binds: journal; through (inclusive). Gives: partition; last_version; rows (estimated as
--   status_journals.sql does).
SELECT part.Partition AS partition, part.HighVersion - 1 AS last_version,
       CAST(CASE WHEN coalesce(pg_stat_get_last_analyze_time(class.oid), pg_stat_get_last_autoanalyze_time(class.oid),
                               pg_stat_get_last_vacuum_time(class.oid), pg_stat_get_last_autovacuum_time(class.oid)) IS NOT NULL
                 THEN pg_stat_get_live_tuples(class.oid)  -- without what a prune has deleted of it before
                 WHEN class.reltuples > 0 AND class.relpages > 0
                 THEN class.reltuples * (pg_relation_size(class.oid) / current_setting('block_size')::integer) / class.relpages
                 ELSE pg_stat_get_live_tuples(class.oid) END AS bigint) AS rows
FROM dms.JournalPartition AS part
JOIN pg_class AS class ON class.oid = to_regclass(format('dms.%I', part.Partition))
WHERE part.Journal = :journal AND part.HighVersion - 1 <= CAST(:through AS bigint)
  AND has_table_privilege(session_user, 'dms.' || :journal, 'DELETE')
  AND has_function_privilege('dms.drop_partition(text, text, text[])', 'EXECUTE')
ORDER BY part.HighVersion

-- sql/postgres/queries/operate/status_journals.sql: each journal's size, and how far it has been pruned. No journal is read.
-- Gives: journal; row_estimate (what the server's statistics have counted since they know the table; after a crash or a restore, which they do not
--   outlive, the planner's); bytes, with indexes
--   and partitions; floor; pruned_at.
SELECT floors.Journal AS journal, floors.ChangeVersion AS floor, floors.PrunedAt AS pruned_at,
       CAST(sum(CASE WHEN coalesce(pg_stat_get_last_analyze_time(class.oid), pg_stat_get_last_autoanalyze_time(class.oid),
                                   pg_stat_get_last_vacuum_time(class.oid), pg_stat_get_last_autovacuum_time(class.oid)) IS NOT NULL
                     THEN pg_stat_get_live_tuples(class.oid)  -- it hears of deletes at once
                     WHEN class.reltuples > 0 AND class.relpages > 0
                     THEN class.reltuples * (pg_relation_size(class.oid) / current_setting('block_size')::integer) / class.relpages
                     ELSE pg_stat_get_live_tuples(class.oid) END) AS bigint) AS row_estimate,
       CAST(sum(pg_total_relation_size(class.oid)) AS bigint) AS bytes
FROM dms.JournalFloor AS floors
CROSS JOIN LATERAL (
    SELECT to_regclass('dms.' || floors.Journal) AS oid
    UNION  -- each once: the tree of a partitioned table begins with itself
    SELECT relid FROM pg_partition_tree(to_regclass('dms.' || floors.Journal))) AS part
JOIN pg_class AS class ON class.oid = part.oid AND class.relkind = 'r'
GROUP BY floors.Journal, floors.ChangeVersion, floors.PrunedAt
ORDER BY floors.Journal

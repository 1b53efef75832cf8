-- sql/postgres/queries/operate/prune_estimate.sql: how many rows of each journal are at or below a version, and about how many bytes they and
-- their index entries take: their share of the table, by its row count of the last ANALYZE.
-- Binds: through (inclusive). Gives: journal, rows, bytes. Plan: index-only ranges of the primary keys.
SELECT counted.journal, counted.rows,
       CAST(size.bytes * (counted.rows / greatest(size.rows, counted.rows, 1)) AS bigint) AS bytes
FROM (
    SELECT 'DocumentChangeEvent' AS journal, count(*) AS rows FROM dms.DocumentChangeEvent WHERE ChangeVersion <= CAST(:through AS bigint)
    UNION ALL SELECT 'IdentityChangeEvent' AS journal, count(*) AS rows FROM dms.IdentityChangeEvent WHERE ChangeVersion <= CAST(:through AS bigint)
    UNION ALL SELECT 'KeyChangeEvent' AS journal, count(*) AS rows FROM dms.KeyChangeEvent WHERE ChangeVersion <= CAST(:through AS bigint)
    UNION ALL SELECT 'DocumentDeleteEvent' AS journal, count(*) AS rows FROM dms.DocumentDeleteEvent WHERE ChangeVersion <= CAST(:through AS bigint)
) AS counted
CROSS JOIN LATERAL (  -- of all of its partitions
    SELECT sum(pg_total_relation_size(relation.oid)) AS bytes, sum(greatest(relation.reltuples, 0)) AS rows
    FROM pg_class AS relation
    WHERE relation.oid IN (SELECT to_regclass('dms.' || counted.journal) UNION SELECT relid FROM pg_partition_tree(to_regclass('dms.' || counted.journal)))
      AND relation.relkind = 'r') AS size

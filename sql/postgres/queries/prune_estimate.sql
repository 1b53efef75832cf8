-- sql/postgres/queries/prune_estimate.sql: how many rows of each journal are at or below a version, and about how many bytes they and
-- their index entries take: their share of the table, by its row count of the last ANALYZE.
-- Binds: through (inclusive). Gives: journal, rows, bytes. Plan: index-only ranges of the primary keys.
SELECT counted.journal, counted.rows,
       CAST(pg_total_relation_size(relation.oid) * (counted.rows / greatest(relation.reltuples, counted.rows, 1)) AS bigint) AS bytes
FROM (
    SELECT 'DocumentChangeEvent' AS journal, count(*) AS rows FROM dms.DocumentChangeEvent WHERE ChangeVersion <= CAST(:through AS bigint)
    UNION ALL SELECT 'IdentityChangeEvent' AS journal, count(*) AS rows FROM dms.IdentityChangeEvent WHERE ChangeVersion <= CAST(:through AS bigint)
    UNION ALL SELECT 'KeyChangeEvent' AS journal, count(*) AS rows FROM dms.KeyChangeEvent WHERE ChangeVersion <= CAST(:through AS bigint)
    UNION ALL SELECT 'DocumentDeleteEvent' AS journal, count(*) AS rows FROM dms.DocumentDeleteEvent WHERE ChangeVersion <= CAST(:through AS bigint)
) AS counted
JOIN pg_class AS relation ON relation.oid = to_regclass('dms.' || counted.journal)

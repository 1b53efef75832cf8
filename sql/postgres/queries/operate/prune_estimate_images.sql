-- sql/postgres/queries/operate/prune_estimate_images.sql: as prune_estimate.sql, of the images of option images.
-- Binds: through (inclusive). Gives: journal, rows, bytes. Plan: an index-only range of the primary key.
SELECT 'DocumentImage' AS journal, counted.rows,
       CAST(pg_total_relation_size(relation.oid) * (counted.rows / greatest(relation.reltuples, counted.rows, 1)) AS bigint) AS bytes
FROM (SELECT count(*) AS rows FROM dms.DocumentImage WHERE ChangeVersion <= CAST(:through AS bigint)) AS counted
CROSS JOIN pg_class AS relation
WHERE relation.oid = to_regclass('dms.DocumentImage')

-- benchmarks/sql/context/images.sql: how many images there are, and what they take with their indexes.
SELECT count(*) AS images, pg_total_relation_size('dms.DocumentImage') AS bytes FROM dms.DocumentImage

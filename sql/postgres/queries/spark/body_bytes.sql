-- sql/postgres/queries/spark/body_bytes.sql: about how many bytes a body has; null where none is kept.
-- Binds: none. One row.
-- Plan: the first 1,000 rows of dms.DocumentCache, as they lie in the table.
SELECT CAST(avg(octet_length(CAST(listed.DocumentJson AS text))) AS bigint) AS bytes
FROM (SELECT DocumentJson FROM dms.DocumentCache LIMIT 1000) AS listed

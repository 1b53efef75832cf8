-- sql/sqlserver/queries/spark/body_bytes.sql: about how many bytes a body has; null where none is kept.
-- Binds: none. One row.
-- Plan: the first 1,000 rows of dms.DocumentCache, as they lie in the table.
SELECT AVG(CAST(DATALENGTH(listed.DocumentJson) AS bigint)) AS bytes
FROM (SELECT TOP (1000) DocumentJson FROM dms.DocumentCache) AS listed;

-- sql/postgres/functions/ensure_partitions.drop.sql
DROP FUNCTION dms.ensure_partitions(bigint, integer);

-- sql/postgres/functions/close_partition.drop.sql
DROP FUNCTION dms.close_partition(text, bigint);

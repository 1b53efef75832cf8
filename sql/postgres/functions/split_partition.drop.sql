-- sql/postgres/functions/split_partition.drop.sql
DROP FUNCTION dms.split_partition(text, text, bigint, bigint, text[]);

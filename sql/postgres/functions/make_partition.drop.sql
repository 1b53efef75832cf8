-- sql/postgres/functions/make_partition.drop.sql
DROP FUNCTION dms.make_partition(text, text);

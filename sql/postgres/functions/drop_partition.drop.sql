-- sql/postgres/functions/drop_partition.drop.sql
DROP FUNCTION dms.drop_partition(text, text, text[]);

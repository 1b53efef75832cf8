-- sql/postgres/functions/rename_partition.drop.sql
DROP FUNCTION dms.rename_partition(text, text);

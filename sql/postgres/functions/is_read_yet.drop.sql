-- sql/postgres/functions/is_read_yet.drop.sql
DROP FUNCTION dms.is_read_yet(text[]);

-- sql/postgres/functions/begin_split.drop.sql
DROP FUNCTION dms.begin_split(text, text, bigint);

-- sql/postgres/functions/refuse_truncate.drop.sql
DROP FUNCTION dms.refuse_truncate();

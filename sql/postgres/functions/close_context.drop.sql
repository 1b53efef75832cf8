-- sql/postgres/functions/close_context.drop.sql
DROP FUNCTION dms.close_context();

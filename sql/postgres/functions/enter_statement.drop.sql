-- sql/postgres/functions/enter_statement.drop.sql
DROP FUNCTION dms.enter_statement();

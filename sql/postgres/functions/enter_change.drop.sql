-- sql/postgres/functions/enter_change.drop.sql
DROP FUNCTION dms.enter_change();

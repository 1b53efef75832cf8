-- sql/postgres/functions/horizon.drop.sql
DROP FUNCTION dms.horizon();

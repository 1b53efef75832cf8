-- sql/postgres/functions/raise_pending.drop.sql
DROP FUNCTION dms.raise_pending();

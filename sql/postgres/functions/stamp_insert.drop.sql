-- sql/postgres/functions/stamp_insert.drop.sql
DROP FUNCTION dms.stamp_insert();

-- sql/postgres/functions/stamp_update.drop.sql
DROP FUNCTION dms.stamp_update();

-- sql/postgres/functions/stamp_parents.drop.sql
DROP FUNCTION dms.stamp_parents();

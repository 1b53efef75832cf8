-- sql/postgres/functions/stamp_document.drop.sql
DROP FUNCTION dms.stamp_document();

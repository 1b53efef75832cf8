-- sql/postgres/functions/keep_image.drop.sql
DROP FUNCTION dms.keep_image();

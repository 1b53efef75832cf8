-- sql/postgres/functions/bury_image.drop.sql
DROP FUNCTION dms.bury_image();

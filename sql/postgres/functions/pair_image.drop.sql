-- sql/postgres/functions/pair_image.drop.sql
DROP FUNCTION dms.pair_image();

-- sql/postgres/functions/held_floors.drop.sql
DROP FUNCTION dms.held_floors();

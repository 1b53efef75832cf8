-- sql/sqlserver/procedures/oldest_floor.drop.sql
DROP PROCEDURE dms.oldest_floor;

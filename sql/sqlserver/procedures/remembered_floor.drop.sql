-- sql/sqlserver/procedures/remembered_floor.drop.sql
DROP PROCEDURE dms.remembered_floor;

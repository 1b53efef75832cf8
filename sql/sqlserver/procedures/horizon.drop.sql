-- sql/sqlserver/procedures/horizon.drop.sql
DROP PROCEDURE dms.horizon;

-- sql/sqlserver/procedures/enter_change.drop.sql
DROP PROCEDURE dms.enter_change;

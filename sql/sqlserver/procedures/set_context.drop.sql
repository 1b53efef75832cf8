-- sql/sqlserver/procedures/set_context.drop.sql
DROP PROCEDURE dms.set_context;

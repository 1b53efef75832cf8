-- sql/sqlserver/procedures/fill_max_dep.drop.sql
DROP PROCEDURE dms.fill_max_dep;

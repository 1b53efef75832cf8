-- sql/sqlserver/tables/ResourceDependency.drop.sql
DROP TABLE dms.ResourceDependency;

-- sql/postgres/tables/ResourceDependency.drop.sql
DROP TABLE dms.ResourceDependency;

-- sql/sqlserver/tables/ChangeContext.drop.sql
DROP TABLE dms.ChangeContextGuard;
DROP TABLE dms.ChangeContext;

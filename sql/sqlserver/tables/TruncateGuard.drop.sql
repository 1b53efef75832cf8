-- sql/sqlserver/tables/TruncateGuard.drop.sql
DROP TABLE dms.TruncateGuard;

-- sql/sqlserver/tables/DocumentImage.drop.sql
DROP TABLE dms.DocumentImageGuard;
DROP TABLE dms.DocumentImageFloor;
DROP TABLE dms.DocumentImage;

-- sql/postgres/tables/DocumentImage.drop.sql
DROP TABLE dms.DocumentImageFloor;
DROP TABLE dms.DocumentImage;

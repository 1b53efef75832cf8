-- sql/sqlserver/tables/JournalFloor.drop.sql
DROP TABLE dms.JournalFloor;

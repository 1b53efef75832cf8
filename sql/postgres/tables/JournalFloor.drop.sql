-- sql/postgres/tables/JournalFloor.drop.sql
DROP TABLE dms.JournalFloor;

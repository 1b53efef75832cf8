-- sql/sqlserver/tables/KeyChangeEvent.drop.sql
DROP TABLE dms.KeyChangeEvent;
DELETE FROM dms.JournalFloor WHERE Journal = N'KeyChangeEvent';

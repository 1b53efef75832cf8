-- sql/sqlserver/tables/DocumentDeleteEvent.drop.sql
DROP TABLE dms.DocumentDeleteEvent;
DELETE FROM dms.JournalFloor WHERE Journal = N'DocumentDeleteEvent';

-- sql/sqlserver/tables/DocumentChangeEvent.drop.sql
DROP TABLE dms.DocumentChangeEvent;
DELETE FROM dms.JournalFloor WHERE Journal = N'DocumentChangeEvent';

-- sql/sqlserver/tables/IdentityChangeEvent.drop.sql
DROP TABLE dms.IdentityChangeEvent;
DELETE FROM dms.JournalFloor WHERE Journal = N'IdentityChangeEvent';

-- sql/postgres/tables/IdentityChangeEvent.drop.sql
DROP TABLE dms.IdentityChangeEvent;
DELETE FROM dms.JournalFloor WHERE Journal = 'IdentityChangeEvent';

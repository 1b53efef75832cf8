-- sql/sqlserver/tables/DocumentDeleteEvent.document.drop.sql
DROP INDEX IX_DocumentDeleteEvent_Document ON dms.DocumentDeleteEvent;

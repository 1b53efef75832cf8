-- sql/postgres/tables/DocumentDeleteEvent.document.drop.sql
DROP INDEX dms.IX_DocumentDeleteEvent_Document;

-- sql/sqlserver/tables/DocumentDeleteEvent.document.v1.sql: an event of a document that is gone finds its uuid and key in the tombstone.
CREATE INDEX IX_DocumentDeleteEvent_Document ON dms.DocumentDeleteEvent (DocumentId, ChangeVersion);
-- drop: DROP INDEX IX_DocumentDeleteEvent_Document ON dms.DocumentDeleteEvent;

-- sql/postgres/triggers/document_update.drop.sql
DROP TRIGGER TR_Document_Update ON dms.Document;

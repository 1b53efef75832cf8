-- sql/postgres/triggers/document_insert.drop.sql
DROP TRIGGER TR_Document_Insert ON dms.Document;

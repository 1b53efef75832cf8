-- sql/postgres/triggers/document_delete.drop.sql
DROP TRIGGER TR_Document_Delete ON dms.Document;

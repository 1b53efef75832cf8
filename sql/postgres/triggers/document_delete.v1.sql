-- sql/postgres/triggers/document_delete.v1.sql
CREATE TRIGGER TR_Document_Delete AFTER DELETE ON dms.Document
    REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION dms.journal_delete();
-- drop: DROP TRIGGER TR_Document_Delete ON dms.Document;

-- sql/postgres/triggers/document_update.v1.sql
CREATE TRIGGER TR_Document_Update AFTER UPDATE ON dms.Document
    REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION dms.journal_update();
-- drop: DROP TRIGGER TR_Document_Update ON dms.Document;

-- sql/postgres/triggers/document_insert.v1.sql
CREATE TRIGGER TR_Document_Insert AFTER INSERT ON dms.Document
    REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION dms.journal_insert();
-- drop: DROP TRIGGER TR_Document_Insert ON dms.Document;

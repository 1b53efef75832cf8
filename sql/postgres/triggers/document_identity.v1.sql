-- sql/postgres/triggers/document_identity.v1.sql
CREATE TRIGGER TR_Document_Identity AFTER UPDATE ON dms.Document
    FOR EACH ROW WHEN (NEW.IdentityVersion <> OLD.IdentityVersion) EXECUTE FUNCTION dms.journal_identity();
-- drop: DROP TRIGGER TR_Document_Identity ON dms.Document;

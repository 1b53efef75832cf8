-- sql/postgres/triggers/document_stamp.v1.sql
CREATE TRIGGER TR_Document_Stamp BEFORE INSERT OR UPDATE ON dms.Document
    FOR EACH ROW EXECUTE FUNCTION dms.stamp_document();

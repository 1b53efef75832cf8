-- sql/postgres/triggers/truncate_documents.v1.sql
CREATE TRIGGER TR_Document_Truncate BEFORE TRUNCATE ON dms.Document
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
CREATE TRIGGER TR_ReferenceEdge_Truncate BEFORE TRUNCATE ON dms.ReferenceEdge
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
-- drop: DROP TRIGGER TR_Document_Truncate ON dms.Document;
-- drop: DROP TRIGGER TR_ReferenceEdge_Truncate ON dms.ReferenceEdge;

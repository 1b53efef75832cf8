-- sql/postgres/triggers/document_stamp.v1.sql: triggers of a kind fire by name; the stamping ones sort last, so that they see what others set.
CREATE TRIGGER TR_Document_Enter BEFORE INSERT ON dms.Document
    FOR EACH STATEMENT EXECUTE FUNCTION dms.enter_statement();
CREATE TRIGGER ZZ_Document_StampInsert BEFORE INSERT ON dms.Document
    FOR EACH ROW EXECUTE FUNCTION dms.stamp_insert();
CREATE TRIGGER ZZ_Document_StampUpdate BEFORE UPDATE ON dms.Document
    FOR EACH ROW EXECUTE FUNCTION dms.stamp_update();
-- drop: DROP TRIGGER TR_Document_Enter ON dms.Document;
-- drop: DROP TRIGGER ZZ_Document_StampInsert ON dms.Document;
-- drop: DROP TRIGGER ZZ_Document_StampUpdate ON dms.Document;

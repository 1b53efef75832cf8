-- sql/postgres/triggers/images.v1.sql: option images. A body that goes would be lost without a word by TRUNCATE.
CREATE TRIGGER TR_DocumentCache_Image AFTER INSERT OR DELETE ON dms.DocumentCache
    FOR EACH ROW EXECUTE FUNCTION dms.keep_image();
CREATE TRIGGER TR_DocumentCache_ImageUpdate AFTER UPDATE ON dms.DocumentCache
    FOR EACH ROW WHEN (OLD.DocumentJson <> NEW.DocumentJson OR OLD.DocumentId <> NEW.DocumentId) EXECUTE FUNCTION dms.keep_image();
CREATE TRIGGER TR_Document_Image AFTER UPDATE ON dms.Document
    FOR EACH ROW WHEN (NEW.ContentVersion <> OLD.ContentVersion OR NEW.IdentityVersion <> OLD.IdentityVersion)
    EXECUTE FUNCTION dms.pair_image();
CREATE TRIGGER TR_Document_DeleteImage AFTER DELETE ON dms.Document
    REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION dms.bury_image();
CREATE TRIGGER TR_DocumentCache_Truncate BEFORE TRUNCATE ON dms.DocumentCache
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
CREATE TRIGGER TR_DocumentImage_Truncate BEFORE TRUNCATE ON dms.DocumentImage
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
-- drop: DROP TRIGGER TR_DocumentCache_Image ON dms.DocumentCache;
-- drop: DROP TRIGGER TR_DocumentCache_ImageUpdate ON dms.DocumentCache;
-- drop: DROP TRIGGER TR_DocumentCache_Truncate ON dms.DocumentCache;
-- drop: DROP TRIGGER TR_Document_Image ON dms.Document;
-- drop: DROP TRIGGER TR_Document_DeleteImage ON dms.Document;
-- drop: DROP TRIGGER TR_DocumentImage_Truncate ON dms.DocumentImage;

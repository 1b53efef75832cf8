-- sql/postgres/triggers/images.drop.sql
DROP TRIGGER TR_DocumentCache_Image ON dms.DocumentCache;
DROP TRIGGER TR_DocumentCache_ImageUpdate ON dms.DocumentCache;
DROP TRIGGER TR_DocumentCache_Truncate ON dms.DocumentCache;
DROP TRIGGER TR_Document_Image ON dms.Document;
DROP TRIGGER TR_Document_DeleteImage ON dms.Document;
DROP TRIGGER TR_DocumentImage_Truncate ON dms.DocumentImage;

-- sql/sqlserver/triggers/document_cache_image.drop.sql
DROP TRIGGER dms.TR_DocumentCache_Image;

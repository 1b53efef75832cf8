-- sql/sqlserver/triggers/document_image.drop.sql
DROP TRIGGER dms.TR_Document_Image;

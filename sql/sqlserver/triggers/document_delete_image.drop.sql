-- sql/sqlserver/triggers/document_delete_image.drop.sql
DROP TRIGGER dms.TR_Document_DeleteImage;

-- sql/sqlserver/triggers/document_delete.drop.sql
DROP TRIGGER dms.TR_Document_Delete;

-- sql/sqlserver/triggers/document_stamp.drop.sql
DROP TRIGGER dms.TR_Document_Stamp;

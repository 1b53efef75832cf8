-- sql/postgres/triggers/document_stamp.drop.sql
DROP TRIGGER TR_Document_Stamp ON dms.Document;

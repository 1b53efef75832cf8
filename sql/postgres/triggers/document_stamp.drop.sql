-- sql/postgres/triggers/document_stamp.drop.sql
DROP TRIGGER TR_Document_Enter ON dms.Document;
DROP TRIGGER ZZ_Document_StampInsert ON dms.Document;
DROP TRIGGER ZZ_Document_StampUpdate ON dms.Document;

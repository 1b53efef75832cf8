-- sql/postgres/triggers/document_identity.drop.sql
DROP TRIGGER TR_Document_Identity ON dms.Document;

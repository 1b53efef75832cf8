-- sql/postgres/triggers/truncate_documents.drop.sql
DROP TRIGGER TR_Document_Truncate ON dms.Document;
DROP TRIGGER TR_ReferenceEdge_Truncate ON dms.ReferenceEdge;

-- sql/sqlserver/triggers/document_context.drop.sql
DROP TRIGGER dms.TR_Document_TellContext;

-- sql/postgres/triggers/context.drop.sql
DROP TRIGGER TR_Document_TellContext ON dms.Document;
DROP TRIGGER TR_ChangeContext_Close ON dms.ChangeContext;
DROP TRIGGER TR_ChangeContext_Truncate ON dms.ChangeContext;

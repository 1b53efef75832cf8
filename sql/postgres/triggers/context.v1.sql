-- sql/postgres/triggers/context.v1.sql: option context. Who sets none pays for this WHEN, once a statement.
CREATE TRIGGER TR_Document_TellContext BEFORE INSERT OR DELETE OR UPDATE ON dms.Document
    FOR EACH STATEMENT
    WHEN (current_setting('dmsjournal.context'::text, true) <> ''::text
          AND current_setting('dmsjournal.context'::text, true) IS DISTINCT FROM current_setting('dms.noted_context'::text, true))
    EXECUTE FUNCTION dms.note_context();
CREATE CONSTRAINT TRIGGER TR_ChangeContext_Close AFTER INSERT ON dms.ChangeContext
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION dms.close_context();
CREATE TRIGGER TR_ChangeContext_Truncate BEFORE TRUNCATE ON dms.ChangeContext
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
-- drop: DROP TRIGGER TR_Document_TellContext ON dms.Document;
-- drop: DROP TRIGGER TR_ChangeContext_Close ON dms.ChangeContext;
-- drop: DROP TRIGGER TR_ChangeContext_Truncate ON dms.ChangeContext;

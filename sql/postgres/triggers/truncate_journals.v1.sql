-- sql/postgres/triggers/truncate_journals.v1.sql
CREATE TRIGGER TR_DocumentChangeEvent_Truncate BEFORE TRUNCATE ON dms.DocumentChangeEvent
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
CREATE TRIGGER TR_IdentityChangeEvent_Truncate BEFORE TRUNCATE ON dms.IdentityChangeEvent
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
CREATE TRIGGER TR_DocumentDeleteEvent_Truncate BEFORE TRUNCATE ON dms.DocumentDeleteEvent
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
CREATE TRIGGER TR_KeyChangeEvent_Truncate BEFORE TRUNCATE ON dms.KeyChangeEvent
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
CREATE TRIGGER TR_JournalFloor_Truncate BEFORE TRUNCATE ON dms.JournalFloor
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
CREATE TRIGGER TR_ChangeConsumer_Truncate BEFORE TRUNCATE ON dms.ChangeConsumer
    FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate();
-- drop: DROP TRIGGER TR_DocumentChangeEvent_Truncate ON dms.DocumentChangeEvent;
-- drop: DROP TRIGGER TR_IdentityChangeEvent_Truncate ON dms.IdentityChangeEvent;
-- drop: DROP TRIGGER TR_DocumentDeleteEvent_Truncate ON dms.DocumentDeleteEvent;
-- drop: DROP TRIGGER TR_KeyChangeEvent_Truncate ON dms.KeyChangeEvent;
-- drop: DROP TRIGGER TR_JournalFloor_Truncate ON dms.JournalFloor;
-- drop: DROP TRIGGER TR_ChangeConsumer_Truncate ON dms.ChangeConsumer;

-- sql/postgres/triggers/truncate_journals.drop.sql
DROP TRIGGER TR_DocumentChangeEvent_Truncate ON dms.DocumentChangeEvent;
DROP TRIGGER TR_IdentityChangeEvent_Truncate ON dms.IdentityChangeEvent;
DROP TRIGGER TR_DocumentDeleteEvent_Truncate ON dms.DocumentDeleteEvent;
DROP TRIGGER TR_KeyChangeEvent_Truncate ON dms.KeyChangeEvent;
DROP TRIGGER TR_JournalFloor_Truncate ON dms.JournalFloor;
DROP TRIGGER TR_ChangeConsumer_Truncate ON dms.ChangeConsumer;

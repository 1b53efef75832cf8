-- sql/sqlserver/queries/database/floors.sql: how far each journal has been pruned.
SELECT Journal AS journal, ChangeVersion AS change_version FROM dms.JournalFloor;

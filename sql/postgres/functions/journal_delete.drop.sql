-- sql/postgres/functions/journal_delete.drop.sql
DROP FUNCTION dms.journal_delete();

-- sql/postgres/functions/journal_update.drop.sql
DROP FUNCTION dms.journal_update();

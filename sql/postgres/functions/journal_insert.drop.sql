-- sql/postgres/functions/journal_insert.drop.sql
DROP FUNCTION dms.journal_insert();

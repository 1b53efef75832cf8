-- sql/postgres/functions/journal_identity.drop.sql
DROP FUNCTION dms.journal_identity();

-- sql/postgres/functions/note_context.drop.sql
DROP FUNCTION dms.note_context();

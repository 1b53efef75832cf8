-- sql/postgres/functions/note_identity.drop.sql
DROP FUNCTION dms.note_identity();

-- sql/postgres/functions/pieces_of.drop.sql
DROP FUNCTION dms.pieces_of(text, text, bigint);

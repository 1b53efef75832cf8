-- sql/postgres/functions/forget_bounds.drop.sql
DROP FUNCTION dms.forget_bounds(text);

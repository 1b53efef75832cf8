-- sql/postgres/functions/raise_at_commit.drop.sql
DROP FUNCTION dms.raise_at_commit();

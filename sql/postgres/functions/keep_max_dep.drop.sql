-- sql/postgres/functions/keep_max_dep.drop.sql
DROP FUNCTION dms.keep_max_dep();

-- sql/postgres/functions/fill_max_dep.drop.sql
DROP FUNCTION dms.fill_max_dep(integer);

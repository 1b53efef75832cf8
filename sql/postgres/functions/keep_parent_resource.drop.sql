-- sql/postgres/functions/keep_parent_resource.drop.sql
DROP FUNCTION dms.keep_parent_resource();

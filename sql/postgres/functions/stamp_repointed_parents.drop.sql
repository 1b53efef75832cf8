-- sql/postgres/functions/stamp_repointed_parents.drop.sql
DROP FUNCTION dms.stamp_repointed_parents();

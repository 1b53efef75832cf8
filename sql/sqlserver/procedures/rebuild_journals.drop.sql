-- sql/sqlserver/procedures/rebuild_journals.drop.sql
DROP PROCEDURE dms.rebuild_journals;

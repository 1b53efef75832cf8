-- sql/sqlserver/views/ResourceChange.drop.sql
DROP VIEW dms.ResourceChange;

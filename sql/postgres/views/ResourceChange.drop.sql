-- sql/postgres/views/ResourceChange.drop.sql
DROP VIEW dms.ResourceChange;

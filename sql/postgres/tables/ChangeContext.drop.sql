-- sql/postgres/tables/ChangeContext.drop.sql
DROP TABLE dms.ChangeContext;

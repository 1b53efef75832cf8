-- sql/sqlserver/tables/ChangeConsumer.drop.sql
DROP TABLE dms.ChangeConsumer;

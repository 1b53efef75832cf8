-- sql/postgres/tables/ChangeConsumer.drop.sql
DROP TABLE dms.ChangeConsumer;

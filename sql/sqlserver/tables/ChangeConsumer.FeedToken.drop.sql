-- sql/sqlserver/tables/ChangeConsumer.FeedToken.drop.sql
ALTER TABLE dms.ChangeConsumer DROP COLUMN FeedToken;

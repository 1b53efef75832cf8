-- sql/sqlserver/tables/ChangeConsumer.FeedToken.v1.sql: the token of a consumer that reads the feed; null for others, and after one was moved by hand.
ALTER TABLE dms.ChangeConsumer ADD FeedToken varchar(4096) NULL;

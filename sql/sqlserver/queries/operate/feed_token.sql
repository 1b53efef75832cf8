-- sql/sqlserver/queries/operate/feed_token.sql: the token of a consumer that reads the feed. Binds: name. Gives: feed_token; no row where there is no consumer.
SELECT FeedToken AS feed_token FROM dms.ChangeConsumer WHERE Name = CAST(:name AS nvarchar(256));

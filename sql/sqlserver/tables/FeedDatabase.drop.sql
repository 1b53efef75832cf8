-- sql/sqlserver/tables/FeedDatabase.drop.sql
DROP TABLE dms.FeedDatabase;

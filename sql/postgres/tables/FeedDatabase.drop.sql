-- sql/postgres/tables/FeedDatabase.drop.sql
DROP TABLE dms.FeedDatabase;

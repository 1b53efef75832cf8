-- sql/sqlserver/tables/FeedGeneration.drop.sql
DROP TABLE dms.FeedGeneration;

-- sql/postgres/tables/FeedGeneration.drop.sql
DROP TABLE dms.FeedGeneration;

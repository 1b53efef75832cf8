-- sql/postgres/views/JournalPartition.drop.sql
DROP VIEW dms.JournalPartition;

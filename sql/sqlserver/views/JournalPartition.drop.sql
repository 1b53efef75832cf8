-- sql/sqlserver/views/JournalPartition.drop.sql
DROP VIEW dms.JournalPartition;

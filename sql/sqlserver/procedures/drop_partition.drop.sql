-- sql/sqlserver/procedures/drop_partition.drop.sql
DROP PROCEDURE dms.drop_partition;

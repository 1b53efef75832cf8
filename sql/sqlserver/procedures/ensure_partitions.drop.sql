-- sql/sqlserver/procedures/ensure_partitions.drop.sql
DROP PROCEDURE dms.ensure_partitions;

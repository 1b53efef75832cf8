-- sql/sqlserver/queries/spark/snapshot_isolation.sql: whether transactions of this database may have SNAPSHOT isolation (ALLOW_SNAPSHOT_ISOLATION).
-- Binds: none. One row.
SET NOCOUNT ON;
SELECT CASE WHEN snapshot_isolation_state = 1 THEN 1 ELSE 0 END AS is_allowed FROM sys.databases WHERE database_id = DB_ID();

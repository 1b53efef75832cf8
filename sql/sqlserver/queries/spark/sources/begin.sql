-- sql/sqlserver/queries/spark/sources/begin.sql: a Spark task's statement sees one moment, where the database allows it (snapshot_isolation.sql).
-- Binds: none.
SET TRANSACTION ISOLATION LEVEL SNAPSHOT

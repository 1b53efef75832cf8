-- sql/sqlserver/queries/read/begin_part.sql: before a part of a plan is read, on a connection of its own.
-- Gives: isolation, the level in which several statements see one moment, where the database allows it; else READ COMMITTED.
SELECT CASE WHEN snapshot_isolation_state = 1 THEN N'SNAPSHOT' ELSE N'READ COMMITTED' END AS isolation
FROM sys.databases WHERE name = DB_NAME();

-- sql/postgres/spark/begin.sql: a Spark task's transaction sees the moment that export_snapshot.sql named.
-- Binds: snapshot. The driver has begun the transaction, as it must for a fetch size.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT :snapshot

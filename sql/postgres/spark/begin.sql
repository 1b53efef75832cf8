-- sql/postgres/spark/begin.sql: a Spark task's transaction sees the moment that export_snapshot.sql named.
-- Binds: snapshot. The driver has begun the transaction, as it must for a fetch size.
-- LOCK: a part of a journal (option partitions) cannot be dropped from here on, also when whoever exported the snapshot is gone. Without it the
--   rows would be missing and the floor of before would be seen, between the adoption and the first read. It comes first: nobody can
--   adopt the snapshot of a transaction that has ended.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE ONLY dms.DocumentChangeEvent, ONLY dms.IdentityChangeEvent, ONLY dms.KeyChangeEvent, ONLY dms.DocumentDeleteEvent IN ACCESS SHARE MODE; SET TRANSACTION SNAPSHOT :snapshot

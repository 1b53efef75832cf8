-- sql/postgres/queries/spark/sources/begin.sql: a Spark task's transaction sees the moment that export_snapshot.sql named.
-- Binds: snapshot. The driver has begun the transaction, as it must for a fetch size.
-- search_path: a pooler may not pass on the one that the driver's URL names (dmsjournal/spark/jdbc.py). row_security: what would hide rows is
--   refused (checks/search_path.sql).
-- LOCK: a part of a journal (option partitions) cannot be dropped from here on, also when whoever exported the snapshot is gone. Without it the
--   rows would be missing and the floor of before would be seen, between the adoption and the first read. It comes first: nobody can
--   adopt the snapshot of a transaction that has ended.
-- work_mem: at least 32 MB, in which the join of a part of a million events stays, once for each of the few tasks that read at a time; with
--   PostgreSQL's own 4 MB one of 250,000 spills the whole of dms.Document, a quarter of the time. It comes last, as it reads.
SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL row_security = off; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE ONLY dms.DocumentChangeEvent, ONLY dms.IdentityChangeEvent, ONLY dms.KeyChangeEvent, ONLY dms.DocumentDeleteEvent IN ACCESS SHARE MODE; SET TRANSACTION SNAPSHOT :snapshot; SELECT pg_catalog.set_config('work_mem', GREATEST(pg_catalog.pg_size_bytes(pg_catalog.current_setting('work_mem')) / 1024, 32768)::text, true)

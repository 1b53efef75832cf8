-- sql/postgres/queries/prune_lock.sql: one prune at a time: a lock of the session, which ends with it. Waits for nobody. Gives: taken.
SELECT pg_try_advisory_lock(1146768493, 0) AS taken

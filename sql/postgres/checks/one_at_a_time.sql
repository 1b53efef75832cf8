-- sql/postgres/checks/one_at_a_time.sql: a second migration waits for the first, at most for lock_timeout.
SELECT pg_advisory_xact_lock(1146768492, 0);

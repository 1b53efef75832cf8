-- sql/postgres/queries/lock_consumers.sql: no batch of a prune begins until this transaction ends, and none is on its way.
SELECT pg_advisory_xact_lock_shared(1146768493, 1)

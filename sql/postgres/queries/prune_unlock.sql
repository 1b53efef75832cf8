-- sql/postgres/queries/prune_unlock.sql: lets another prune begin.
SELECT pg_advisory_unlock(1146768493, 0)

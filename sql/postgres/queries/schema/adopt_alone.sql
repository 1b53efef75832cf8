-- sql/postgres/queries/schema/adopt_alone.sql: whether this session is the only one that adopts, to its end. Gives: alone.
SELECT pg_try_advisory_lock(1146768492, 1) AS alone

-- benchmarks/sql/track/delete_0.sql: rows first to last. Binds: first, last.
DELETE FROM t0 WHERE id BETWEEN CAST(:first AS integer) AND CAST(:last AS integer)

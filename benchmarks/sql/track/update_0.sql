-- benchmarks/sql/track/update_0.sql: a column of rows first to last. Binds: first, last.
UPDATE t0 SET note = 'new' WHERE id BETWEEN CAST(:first AS integer) AND CAST(:last AS integer)

-- benchmarks/sql/track/update_5.sql: a column of rows first to last. Binds: first, last.
UPDATE t5 SET note = 'new' WHERE id BETWEEN CAST(:first AS integer) AND CAST(:last AS integer)

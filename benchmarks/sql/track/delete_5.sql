-- benchmarks/sql/track/delete_5.sql: rows first to last. Binds: first, last.
DELETE FROM t5 WHERE id BETWEEN CAST(:first AS integer) AND CAST(:last AS integer)

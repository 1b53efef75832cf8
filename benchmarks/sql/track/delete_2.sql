-- benchmarks/sql/track/delete_2.sql: rows first to last. Binds: first, last.
DELETE FROM t2 WHERE id BETWEEN CAST(:first AS integer) AND CAST(:last AS integer)

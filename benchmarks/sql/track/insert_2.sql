-- benchmarks/sql/track/insert_2.sql: rows first to last. Binds: first, last.
INSERT INTO t2 SELECT n, 'old', 1 + (n + 0) % 1000, 1 + (n + 1) % 1000 FROM generate_series(CAST(:first AS integer), CAST(:last AS integer)) AS n

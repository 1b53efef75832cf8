-- benchmarks/sql/track/insert_5.sql: rows first to last. Binds: first, last.
INSERT INTO t5 SELECT n, 'old', 1 + (n + 0) % 1000, 1 + (n + 1) % 1000, 1 + (n + 2) % 1000, 1 + (n + 3) % 1000, 1 + (n + 4) % 1000 FROM generate_series(CAST(:first AS integer), CAST(:last AS integer)) AS n

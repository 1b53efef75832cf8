-- benchmarks/sql/track/insert_0.sql: rows first to last. Binds: first, last.
INSERT INTO t0 SELECT n, 'old' FROM generate_series(CAST(:first AS integer), CAST(:last AS integer)) AS n

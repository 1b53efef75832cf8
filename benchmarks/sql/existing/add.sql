-- benchmarks/sql/existing/add.sql: what a writer does. Binds: id.
INSERT INTO existing.line SELECT o.id, 3, 1, 'new' FROM existing.order AS o WHERE o.id = CAST(:id AS integer) ON CONFLICT DO NOTHING

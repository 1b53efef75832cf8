-- benchmarks/sql/existing/rename.sql: what a writer does. Binds: id.
UPDATE existing.customer SET name = name || 'x' WHERE id = CAST(:id AS integer)

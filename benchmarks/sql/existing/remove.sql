-- benchmarks/sql/existing/remove.sql: what a writer does; the lines go along. Binds: id.
DELETE FROM existing.order WHERE id = CAST(:id AS integer)

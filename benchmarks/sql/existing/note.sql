-- benchmarks/sql/existing/note.sql: what a writer does. Binds: id.
UPDATE existing.line SET note = note || 'x' WHERE "order" = CAST(:id AS integer)

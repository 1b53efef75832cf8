-- benchmarks/sql/write/update_bodies.sql: a content change and its body, by one statement. Binds: first, last (DocumentId, inclusive).
-- The document first, as writers do it: the body's condition waits for it.
WITH changed AS (
    UPDATE Document SET ContentVersion = ContentVersion + 1 WHERE DocumentId BETWEEN :first AND :last RETURNING DocumentId
)
UPDATE DocumentCache SET DocumentJson = jsonb_set(DocumentJson, '{at}', to_jsonb(clock_timestamp()))
WHERE DocumentId BETWEEN :first AND :last AND (SELECT count(*) FROM changed) > 0

-- sql/postgres/queries/read/tracked_bodies.sql: the rows of tracked tables as they are now, for documents of which no body is kept. Binds: document_ids (JSON
-- array of ids). Gives: document_id, body; no row for what is no tracked document. The caller's own rights on the tables count.
SELECT b.DocumentId AS document_id, b.Body AS body
FROM dms.tracked_bodies(ARRAY(SELECT CAST(value AS bigint) FROM jsonb_array_elements_text(CAST(:document_ids AS jsonb)) AS listed (value))) AS b

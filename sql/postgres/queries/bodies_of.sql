-- sql/postgres/queries/bodies_of.sql: the bodies of some documents. Binds: document_ids (JSON array of ids).
SELECT cache.DocumentId AS document_id, cache.DocumentJson AS body
FROM jsonb_array_elements_text(CAST(:document_ids AS jsonb)) AS wanted (document_id)
CROSS JOIN LATERAL (
    SELECT * FROM dms.DocumentCache WHERE DocumentId = CAST(wanted.document_id AS bigint) OFFSET 0) AS cache

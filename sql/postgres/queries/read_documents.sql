-- sql/postgres/queries/read_documents.sql: documents as they are now, in DocumentId order. Binds: document_ids (JSON array of ids, each
-- once). A document that does not exist has no row; body is null where none is kept.
SELECT document.DocumentId AS document_id, document.DocumentUuid AS document_uuid, document.ResourceKeyId AS resource_key_id,
       document.KeyValues AS key_values, cache.DocumentJson AS body
FROM jsonb_array_elements_text(CAST(:document_ids AS jsonb)) AS wanted (document_id)
CROSS JOIN LATERAL (
    SELECT * FROM dms.Document WHERE DocumentId = CAST(wanted.document_id AS bigint) OFFSET 0) AS document
LEFT JOIN LATERAL (SELECT DocumentJson FROM dms.DocumentCache WHERE DocumentId = document.DocumentId OFFSET 0) AS cache ON true
ORDER BY document.DocumentId

-- sql/postgres/queries/read/read_documents.sql: documents as they are now, in DocumentId order. Binds: document_ids (JSON array of ids, each
-- once). with_values: whether to give keys and bodies (dmsjournal/read/unreadable.py).
-- A document that does not exist has no row; body is null where none is kept.
SELECT document.DocumentId AS document_id, document.DocumentUuid AS document_uuid,
       resource.ProjectName AS project_name, resource.ResourceName AS resource_name, resource.ResourceVersion AS resource_version,
       CASE WHEN CAST(:with_values AS integer) = 1 THEN document.KeyValues END AS key_values,
       CASE WHEN CAST(:with_values AS integer) = 1 THEN cache.DocumentJson END AS body
FROM jsonb_array_elements_text(CAST(:document_ids AS jsonb)) AS wanted (document_id)
CROSS JOIN LATERAL (
    SELECT * FROM dms.Document WHERE DocumentId = CAST(wanted.document_id AS bigint) OFFSET 0) AS document
JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = document.ResourceKeyId
LEFT JOIN LATERAL (SELECT DocumentJson FROM dms.DocumentCache WHERE DocumentId = document.DocumentId OFFSET 0) AS cache ON true
ORDER BY document.DocumentId

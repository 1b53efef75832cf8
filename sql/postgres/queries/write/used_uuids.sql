-- sql/postgres/queries/write/used_uuids.sql: which of some uuids name a document, living or deleted. Binds: uuids (JSON array of text).
SELECT wanted.document_uuid, EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentUuid = wanted.document_uuid) AS is_alive
FROM (SELECT CAST(value AS uuid) AS document_uuid FROM jsonb_array_elements_text(CAST(:uuids AS jsonb)) AS listed (value)) AS wanted
WHERE EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentUuid = wanted.document_uuid)
   OR EXISTS (SELECT FROM dms.DocumentDeleteEvent AS e WHERE e.DocumentUuid = wanted.document_uuid)

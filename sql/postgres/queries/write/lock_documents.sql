-- sql/postgres/queries/write/lock_documents.sql: locks documents against other writers, in ascending DocumentId, and tells which are there.
-- Binds: document_ids (JSON array of ids).
SELECT DocumentId AS document_id, ResourceKeyId AS resource_key_id, DocumentUuid AS document_uuid, KeyValues AS key_values
FROM dms.Document
WHERE DocumentId = ANY (ARRAY(SELECT CAST(value AS bigint) FROM jsonb_array_elements_text(CAST(:document_ids AS jsonb)) AS listed (value)))
ORDER BY DocumentId
FOR NO KEY UPDATE

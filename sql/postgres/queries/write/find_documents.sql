-- sql/postgres/queries/write/find_documents.sql: the documents with certain keys, and whether their stored body equals another.
-- Binds: rows (JSON array of {ordinal, resource_key_id, key_values, body}; body may be absent).
-- Gives: ordinal, document_id, document_uuid, same_body; no row for a key that no document has, the lowest id first where two have it.
-- Plan: a lookup in IX_Document_KeyValues each.
SELECT wanted.ordinal, found.DocumentId AS document_id, found.DocumentUuid AS document_uuid,
       coalesce(cache.DocumentJson = wanted.body, false) AS same_body
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (ordinal integer, resource_key_id smallint, key_values jsonb, body jsonb)
CROSS JOIN LATERAL (
    SELECT DocumentId, DocumentUuid
    FROM dms.Document
    WHERE ResourceKeyId = wanted.resource_key_id
      AND jsonb_hash_extended(KeyValues, 0) = jsonb_hash_extended(wanted.key_values, 0)
      AND KeyValues = wanted.key_values
    OFFSET 0
) AS found
LEFT JOIN LATERAL (SELECT DocumentJson FROM dms.DocumentCache WHERE DocumentId = found.DocumentId OFFSET 0) AS cache ON true
ORDER BY wanted.ordinal, found.DocumentId

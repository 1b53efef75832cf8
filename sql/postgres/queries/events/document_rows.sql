-- sql/postgres/queries/events/document_rows.sql: the next documents of one resource after an id, with keys and bodies as they are now, by id.
-- Binds: resource_key_id; after_id (exclusive); page_size (documents).
-- Gives: document_id, document_uuid, change_version (of its own stamps, not derived), changed_at, key_values, body (null: none is kept).
-- Plan: a range of IX_Document_ResourceKeyId, and a lookup of each document's body.
SELECT document.DocumentId AS document_id, document.DocumentUuid AS document_uuid,
       greatest(document.ContentVersion, document.IdentityVersion) AS change_version,
       greatest(document.ContentLastModifiedAt, document.IdentityLastModifiedAt) AS changed_at,
       document.KeyValues AS key_values, cache.DocumentJson AS body
FROM (
    SELECT * FROM dms.Document
    WHERE ResourceKeyId = ANY (ARRAY[CAST(:resource_key_id AS smallint)]) AND DocumentId > CAST(:after_id AS bigint)
    ORDER BY ResourceKeyId, DocumentId
    LIMIT CAST(:page_size AS bigint)
) AS document
LEFT JOIN LATERAL (SELECT DocumentJson FROM dms.DocumentCache WHERE DocumentId = document.DocumentId OFFSET 0) AS cache ON true
ORDER BY document.DocumentId

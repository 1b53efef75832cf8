-- sql/sqlserver/queries/events/document_rows.sql: the next documents of one resource after an id, with keys and bodies as they are now, by id.
-- Binds: resource_key_id; after_id (exclusive); page_size (documents).
-- Gives: document_id, document_uuid, change_version (of its own stamps, not derived), changed_at, key_values, body (null: none is kept).
-- Plan: a range of IX_Document_ResourceKeyId, and a lookup of each document's body.
SET NOCOUNT ON;
DECLARE @resource_key_id smallint = :resource_key_id, @after_id bigint = :after_id, @page_size bigint = :page_size;
SELECT document.DocumentId AS document_id, document.DocumentUuid AS document_uuid,
       CASE WHEN document.ContentVersion > document.IdentityVersion THEN document.ContentVersion
            ELSE document.IdentityVersion END AS change_version,
       CASE WHEN document.ContentLastModifiedAt > document.IdentityLastModifiedAt THEN document.ContentLastModifiedAt
            ELSE document.IdentityLastModifiedAt END AS changed_at,
       document.KeyValues AS key_values, cache.DocumentJson AS body
FROM (
    SELECT TOP (@page_size) DocumentId, DocumentUuid, ContentVersion, IdentityVersion, ContentLastModifiedAt, IdentityLastModifiedAt, KeyValues
    FROM dms.Document WITH (INDEX (IX_Document_ResourceKeyId), FORCESEEK)
    WHERE ResourceKeyId = @resource_key_id AND DocumentId > @after_id
    ORDER BY DocumentId
) AS document
LEFT JOIN dms.DocumentCache AS cache ON cache.DocumentId = document.DocumentId
ORDER BY document.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql

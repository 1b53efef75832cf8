-- sql/postgres/queries/read/part_documents.sql: the live documents in a range of ids, each at its derived version as of now, in no order.
-- Binds: resource_key_ids (JSON array, each once); from_id, through_id (inclusive); last_version (inclusive, at most a horizon read before: a document
--   above it has changed since, and is in the changes that follow); with_keys, with_bodies (1 or 0: what is not wanted is null).
-- Gives: what part_changes.sql gives; committed_at is when the stamp that is the version was given.
-- Plan: a range of the documents, and lookups of each one's children by key.
SELECT concat_ws('/', resource.ProjectName, resource.ResourceName, resource.ResourceVersion) AS resource,
       live.ChangeVersion AS change_version, live.CommittedAt AS committed_at,
       live.DocumentId AS document_id, CAST(live.DocumentUuid AS text) AS uuid,
       CASE WHEN CAST(:with_keys AS integer) = 1 THEN CAST(live.KeyValues AS text) END AS keys, CAST(NULL AS text) AS old_keys,
       CASE WHEN CAST(:with_bodies AS integer) = 1 THEN CAST(cache.DocumentJson AS text) END AS body_text
FROM (
    SELECT document.DocumentId, document.DocumentUuid, document.ResourceKeyId, document.KeyValues,
           greatest(document.ContentVersion, document.IdentityVersion, newest.IdentityVersion) AS ChangeVersion,
           CASE WHEN newest.IdentityVersion > greatest(document.ContentVersion, document.IdentityVersion) THEN newest.IdentityLastModifiedAt
                WHEN document.ContentVersion >= document.IdentityVersion THEN document.ContentLastModifiedAt
                ELSE document.IdentityLastModifiedAt END AS CommittedAt
    FROM dms.Document AS document
    LEFT JOIN LATERAL (
        SELECT child.IdentityVersion, child.IdentityLastModifiedAt
        FROM dms.ReferenceEdge AS edge JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
        WHERE edge.ParentDocumentId = document.DocumentId
        ORDER BY child.IdentityVersion DESC
        LIMIT 1
    ) AS newest ON true
    WHERE document.ResourceKeyId = ANY (ARRAY(SELECT CAST(value AS smallint) FROM jsonb_array_elements_text(CAST(:resource_key_ids AS jsonb)) AS listed (value)))
      AND document.DocumentId BETWEEN CAST(:from_id AS bigint) AND CAST(:through_id AS bigint)
) AS live
JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = live.ResourceKeyId
LEFT JOIN dms.DocumentCache AS cache ON CAST(:with_bodies AS integer) = 1 AND cache.DocumentId = live.DocumentId
WHERE live.ChangeVersion <= CAST(:last_version AS bigint)

-- sql/postgres/queries/spark/sources/documents.sql: what a Spark job reads resources in full from: each live document at its derived version, as of now.
-- Binds: none. Spark puts it in a FROM, asks for the columns that it needs, and bounds it by document_id, resource_key_id and change_version.
-- Gives: the columns of changes.sql; committed_at is when the stamp that is the version was given.
-- Plan: a range of the documents, and lookups of each one's children by key. A join whose columns are not asked for is left out.
SELECT document.ResourceKeyId AS resource_key_id, resource.ProjectName || '/' || resource.ResourceName || '/' || resource.ResourceVersion AS resource,
      
       greatest(document.ContentVersion, document.IdentityVersion, newest.IdentityVersion) AS change_version,
       document.DocumentId AS document_id, CAST(document.DocumentUuid AS text) AS document_uuid, CAST(document.KeyValues AS text) AS key_values,
       CASE WHEN newest.IdentityVersion > greatest(document.ContentVersion, document.IdentityVersion) THEN newest.IdentityLastModifiedAt
            WHEN document.ContentVersion >= document.IdentityVersion THEN document.ContentLastModifiedAt
            ELSE document.IdentityLastModifiedAt END AS committed_at,
       CAST(cache.DocumentJson AS text) AS body,
       (SELECT concat_ws(',', document.ContentVersion, document.IdentityVersion,
                         string_agg(concat(child.DocumentId, ',', child.IdentityVersion), ',' ORDER BY child.DocumentId))
        FROM dms.ReferenceEdge AS edge JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
        WHERE edge.ParentDocumentId = document.DocumentId) AS stamps,
       (SELECT greatest(document.ContentLastModifiedAt, document.IdentityLastModifiedAt, max(child.IdentityLastModifiedAt))
        FROM dms.ReferenceEdge AS edge JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
        WHERE edge.ParentDocumentId = document.DocumentId) AS last_modified
FROM dms.Document AS document
LEFT JOIN LATERAL (
    SELECT child.IdentityVersion, child.IdentityLastModifiedAt
    FROM dms.ReferenceEdge AS edge JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
    WHERE edge.ParentDocumentId = document.DocumentId
    ORDER BY child.IdentityVersion DESC
    LIMIT 1
) AS newest ON true
LEFT JOIN dms.DocumentCache AS cache ON cache.DocumentId = document.DocumentId
LEFT JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = document.ResourceKeyId

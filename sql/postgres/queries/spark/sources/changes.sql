-- sql/postgres/queries/spark/sources/changes.sql: what a Spark job reads changes from: dms.ResourceChange, with bodies, and what etags and dates derive from.
-- Binds: none. Spark puts it in a FROM, asks for the columns that it needs, and bounds it by change_version, resource_key_id and document_id.
-- Gives: stamps, the numbers that the etag is made of (docs/how-it-works.md, Etags), separated by commas; last_modified, as derive.sql tells.
-- Plan: that of the view. A join whose columns are not asked for is left out.
SELECT change.ResourceKeyId AS resource_key_id, resource.ProjectName || '/' || resource.ResourceName || '/' || resource.ResourceVersion AS resource,
       change.ChangeVersion AS change_version, change.DocumentId AS document_id,
       CAST(change.DocumentUuid AS text) AS document_uuid, CAST(change.KeyValues AS text) AS key_values, change.CommittedAt AS committed_at,
       CAST(cache.DocumentJson AS text) AS body,
       (SELECT concat_ws(',', change.ContentVersion, change.IdentityVersion,
                         string_agg(concat(child.DocumentId, ',', child.IdentityVersion), ',' ORDER BY child.DocumentId))
        FROM dms.ReferenceEdge AS edge JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
        WHERE edge.ParentDocumentId = change.DocumentId) AS stamps,
       (SELECT greatest(document.ContentLastModifiedAt, document.IdentityLastModifiedAt, max(child.IdentityLastModifiedAt))
        FROM dms.ReferenceEdge AS edge JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
        WHERE edge.ParentDocumentId = change.DocumentId) AS last_modified
FROM dms.ResourceChange AS change
LEFT JOIN dms.Document AS document ON document.DocumentId = change.DocumentId
LEFT JOIN dms.DocumentCache AS cache ON cache.DocumentId = change.DocumentId
LEFT JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = change.ResourceKeyId

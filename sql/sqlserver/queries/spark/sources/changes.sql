-- sql/sqlserver/queries/spark/sources/changes.sql: what a Spark job reads changes from: dms.ResourceChange, with bodies, and what etags and dates derive from.
-- Binds: none. Spark puts it in a FROM, asks for the columns that it needs, and bounds it by change_version, resource_key_id and document_id.
-- Gives: stamps, the numbers that the etag is made of (docs/how-it-works.md, Etags), separated by commas; last_modified, as derive.sql tells.
--   Times carry their zone, UTC: without one, the driver would read them in the zone of the machine.
-- Plan: that of the view. A join whose columns are not asked for is left out.
SELECT change.ResourceKeyId AS resource_key_id, resource.ProjectName + N'/' + resource.ResourceName + N'/' + resource.ResourceVersion AS resource,
       change.ChangeVersion AS change_version, change.DocumentId AS document_id,
       LOWER(CAST(change.DocumentUuid AS varchar(36))) AS document_uuid, change.KeyValues AS key_values,
       TODATETIMEOFFSET(change.CommittedAt, 0) AS committed_at, cache.DocumentJson AS body,
       CONCAT(change.ContentVersion, ',', change.IdentityVersion, children.Stamps) AS stamps,
       TODATETIMEOFFSET(CASE WHEN children.LastModifiedAt > document.ContentLastModifiedAt
                              AND children.LastModifiedAt > document.IdentityLastModifiedAt THEN children.LastModifiedAt
                             WHEN document.ContentLastModifiedAt > document.IdentityLastModifiedAt THEN document.ContentLastModifiedAt
                             ELSE document.IdentityLastModifiedAt END, 0) AS last_modified
FROM dms.ResourceChange AS change
LEFT JOIN dms.Document AS document ON document.DocumentId = change.DocumentId
LEFT JOIN dms.DocumentCache AS cache ON cache.DocumentId = change.DocumentId
LEFT JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = change.ResourceKeyId
OUTER APPLY (
    SELECT STRING_AGG(CAST(CONCAT(',', child.DocumentId, ',', child.IdentityVersion) AS varchar(max)), '')
               WITHIN GROUP (ORDER BY child.DocumentId) AS Stamps,
           MAX(child.IdentityLastModifiedAt) AS LastModifiedAt
    FROM dms.ReferenceEdge AS edge INNER JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
    WHERE edge.ParentDocumentId = change.DocumentId
) AS children

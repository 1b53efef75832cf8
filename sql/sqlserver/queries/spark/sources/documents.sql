-- sql/sqlserver/queries/spark/sources/documents.sql: what a Spark job reads resources in full from: each live document at its derived version, as of now.
-- Binds: none. Spark puts it in a FROM, asks for the columns that it needs, and bounds it by document_id, resource_key_id and change_version.
-- Gives: the columns of changes.sql; committed_at is when the stamp that is the version was given.
-- Plan: a range of the documents, and lookups of each one's children by key. A join whose columns are not asked for is left out.
SELECT document.ResourceKeyId AS resource_key_id, resource.ProjectName + N'/' + resource.ResourceName + N'/' + resource.ResourceVersion AS resource,
      
       CASE WHEN newest.IdentityVersion > document.ContentVersion AND newest.IdentityVersion > document.IdentityVersion
            THEN newest.IdentityVersion
            WHEN document.ContentVersion > document.IdentityVersion THEN document.ContentVersion
            ELSE document.IdentityVersion END AS change_version,
       document.DocumentId AS document_id, LOWER(CAST(document.DocumentUuid AS varchar(36))) AS document_uuid,
       document.KeyValues AS key_values,
       TODATETIMEOFFSET(CASE WHEN newest.IdentityVersion > document.ContentVersion AND newest.IdentityVersion > document.IdentityVersion
                             THEN newest.IdentityLastModifiedAt
                             WHEN document.ContentVersion >= document.IdentityVersion THEN document.ContentLastModifiedAt
                             ELSE document.IdentityLastModifiedAt END, 0) AS committed_at,
       cache.DocumentJson AS body,
       CONCAT(document.ContentVersion, ',', document.IdentityVersion, children.Stamps) AS stamps,
       TODATETIMEOFFSET(CASE WHEN children.LastModifiedAt > document.ContentLastModifiedAt
                              AND children.LastModifiedAt > document.IdentityLastModifiedAt THEN children.LastModifiedAt
                             WHEN document.ContentLastModifiedAt > document.IdentityLastModifiedAt THEN document.ContentLastModifiedAt
                             ELSE document.IdentityLastModifiedAt END, 0) AS last_modified
FROM dms.Document AS document
OUTER APPLY (
    SELECT TOP (1) child.IdentityVersion, child.IdentityLastModifiedAt
    FROM dms.ReferenceEdge AS edge INNER JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
    WHERE edge.ParentDocumentId = document.DocumentId
    ORDER BY child.IdentityVersion DESC
) AS newest
LEFT JOIN dms.DocumentCache AS cache ON cache.DocumentId = document.DocumentId
LEFT JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = document.ResourceKeyId
OUTER APPLY (
    SELECT STRING_AGG(CAST(CONCAT(',', child.DocumentId, ',', child.IdentityVersion) AS varchar(max)), '')
               WITHIN GROUP (ORDER BY child.DocumentId) AS Stamps,
           MAX(child.IdentityLastModifiedAt) AS LastModifiedAt
    FROM dms.ReferenceEdge AS edge INNER JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
    WHERE edge.ParentDocumentId = document.DocumentId
) AS children

-- benchmarks/sql/stored/load.sql: fills schema stored from the history; no edges, since its page reads none.
SET session_replication_role = replica;
INSERT INTO stored.ResourceKey SELECT ResourceKeyId, ProjectName, ResourceName, ResourceVersion FROM history.ResourceKey;
INSERT INTO stored.Document (DocumentId, DocumentUuid, ResourceKeyId, ContentVersion, IdentityVersion,
                             ContentLastModifiedAt, IdentityLastModifiedAt, CreatedAt, KeyValues, ChangeVersion)
SELECT row.DocumentId, row.DocumentUuid, row.ResourceKeyId, row.ContentVersion, row.IdentityVersion,
       row.ContentLastModifiedAt, row.IdentityLastModifiedAt, row.CreatedAt, row.KeyValues,
       greatest(row.ContentVersion, row.IdentityVersion, newest_child.IdentityVersion)
FROM history.Row AS row
LEFT JOIN (
    SELECT edge.ParentDocumentId, max(child.IdentityVersion) AS IdentityVersion
    FROM history.Edge AS edge JOIN history.Document AS child ON child.DocumentId = edge.ChildDocumentId
    GROUP BY edge.ParentDocumentId
) AS newest_child ON newest_child.ParentDocumentId = row.DocumentId;
RESET session_replication_role;

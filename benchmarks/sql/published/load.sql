-- benchmarks/sql/published/load.sql: fills schema published from the history, without triggers and foreign key checks.
SET session_replication_role = replica;
INSERT INTO published.ResourceKey SELECT ResourceKeyId, ProjectName, ResourceName, ResourceVersion FROM history.ResourceKey;
INSERT INTO published.Document (DocumentId, DocumentUuid, ResourceKeyId, ContentVersion, IdentityVersion,
                         ContentLastModifiedAt, IdentityLastModifiedAt, CreatedAt, KeyValues)
SELECT DocumentId, DocumentUuid, ResourceKeyId, ContentVersion, IdentityVersion,
       ContentLastModifiedAt, IdentityLastModifiedAt, CreatedAt, KeyValues
FROM history.Row;
INSERT INTO published.ReferenceEdge (ParentDocumentId, ChildDocumentId, ParentResourceKeyId)
SELECT ParentDocumentId, ChildDocumentId, ParentResourceKeyId FROM history.Edge;
INSERT INTO published.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, CreatedAt)
SELECT ChangeVersion, DocumentId, ResourceKeyId, CreatedAt FROM history.Stamp ORDER BY ChangeVersion;
INSERT INTO published.IdentityChangeEvent (ChangeVersion, DocumentId, CreatedAt)
SELECT ChangeVersion, DocumentId, CreatedAt FROM history.Stamp
WHERE IsIdentity OR Operation = 'insert'  -- its trigger writes one for an insert as well
ORDER BY ChangeVersion;
RESET session_replication_role;

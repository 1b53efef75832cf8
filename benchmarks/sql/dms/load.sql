-- benchmarks/sql/dms/load.sql: fills schema dms from the history, without triggers and foreign key checks.
SET session_replication_role = replica;
INSERT INTO dms.ResourceKey SELECT ResourceKeyId, ProjectName, ResourceName, ResourceVersion FROM history.ResourceKey;
INSERT INTO dms.Document (DocumentId, DocumentUuid, ResourceKeyId, ContentVersion, IdentityVersion,
                         ContentLastModifiedAt, IdentityLastModifiedAt, CreatedAt, KeyValues)
SELECT DocumentId, DocumentUuid, ResourceKeyId, ContentVersion, IdentityVersion,
       ContentLastModifiedAt, IdentityLastModifiedAt, CreatedAt, KeyValues
FROM history.Row;
INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, ParentResourceKeyId)
SELECT ParentDocumentId, ChildDocumentId, ParentResourceKeyId FROM history.Edge;
INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
SELECT DISTINCT edge.ParentResourceKeyId, child.ResourceKeyId
FROM history.Edge AS edge JOIN history.Resource AS child ON child.DocumentId = edge.ChildDocumentId;
INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt)
SELECT ChangeVersion, DocumentId, ResourceKeyId, Operation, pg_current_xact_id()::text::bigint, CreatedAt
FROM history.Stamp ORDER BY ChangeVersion;
INSERT INTO dms.IdentityChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, CreatedAt)
SELECT ChangeVersion, DocumentId, ResourceKeyId, CreatedAt FROM history.Stamp WHERE IsIdentity ORDER BY ChangeVersion;
SELECT setval('dms.ChangeVersionSequence', documents + events) FROM history.Parameter;
RESET session_replication_role;

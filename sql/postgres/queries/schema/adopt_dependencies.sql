-- sql/postgres/queries/schema/adopt_dependencies.sql: which resources refer to which, for a batch of edges. Binds: after_id, through_id (parents).
-- Looks before it inserts: a writer that adds the same pair is waited for only where it must.
INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
SELECT DISTINCT e.ParentResourceKeyId, c.ResourceKeyId
FROM dms.ReferenceEdge AS e JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId
WHERE e.ParentDocumentId > CAST(:after_id AS bigint) AND e.ParentDocumentId <= CAST(:through_id AS bigint) AND NOT EXISTS (
    SELECT FROM dms.ResourceDependency AS known
    WHERE known.ParentResourceKeyId = e.ParentResourceKeyId AND known.ChildResourceKeyId = c.ResourceKeyId)
ORDER BY e.ParentResourceKeyId, c.ResourceKeyId
ON CONFLICT DO NOTHING

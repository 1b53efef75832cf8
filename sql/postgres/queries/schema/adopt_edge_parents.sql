-- sql/postgres/queries/schema/adopt_edge_parents.sql: the resource of the parent, for a batch of edges. Binds: after_id, through_id (parents).
UPDATE dms.ReferenceEdge AS edge SET ParentResourceKeyId = parent.ResourceKeyId
FROM dms.Document AS parent
WHERE edge.ParentDocumentId > CAST(:after_id AS bigint) AND edge.ParentDocumentId <= CAST(:through_id AS bigint)
  AND parent.DocumentId = edge.ParentDocumentId AND edge.ParentResourceKeyId <> parent.ResourceKeyId

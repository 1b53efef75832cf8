-- sql/sqlserver/queries/schema/adopt_edge_parents.sql: the resource of the parent, for a batch of edges. Binds: after_id, through_id (parents).
UPDATE edge SET ParentResourceKeyId = parent.ResourceKeyId
FROM dms.ReferenceEdge AS edge INNER JOIN dms.Document AS parent ON parent.DocumentId = edge.ParentDocumentId
WHERE edge.ParentDocumentId > :after_id AND edge.ParentDocumentId <= :through_id AND edge.ParentResourceKeyId <> parent.ResourceKeyId;

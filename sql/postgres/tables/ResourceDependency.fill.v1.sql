-- sql/postgres/tables/ResourceDependency.fill.v1.sql: the pairs of the edges that are there already.
INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
SELECT DISTINCT e.ParentResourceKeyId, c.ResourceKeyId
FROM dms.ReferenceEdge AS e JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId;

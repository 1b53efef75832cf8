-- sql/sqlserver/tables/ResourceDependency.fill.v1.sql: the edges that are there already: their parents' resources, whatever was written,
-- and the pairs of resources. An identity stamp that is newer than a parent is that parent's witness, also where it was the child's first.
UPDATE edge SET ParentResourceKeyId = parent.ResourceKeyId
FROM dms.ReferenceEdge AS edge JOIN dms.Document AS parent ON parent.DocumentId = edge.ParentDocumentId
WHERE edge.ParentResourceKeyId <> parent.ResourceKeyId;
INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
SELECT DISTINCT e.ParentResourceKeyId, c.ResourceKeyId
FROM dms.ReferenceEdge AS e JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId;
INSERT INTO dms.IdentityChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, CreatedAt)
SELECT c.IdentityVersion, c.DocumentId, c.ResourceKeyId, c.IdentityLastModifiedAt
FROM dms.Document AS c
WHERE EXISTS (
    SELECT * FROM dms.ReferenceEdge AS e JOIN dms.Document AS p ON p.DocumentId = e.ParentDocumentId
    WHERE e.ChildDocumentId = c.DocumentId AND p.ContentVersion < c.IdentityVersion AND p.IdentityVersion < c.IdentityVersion)
  AND NOT EXISTS (
    SELECT * FROM dms.IdentityChangeEvent AS known WHERE known.ChangeVersion = c.IdentityVersion AND known.DocumentId = c.DocumentId);

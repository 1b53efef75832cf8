-- sql/sqlserver/tables/IdentityChangeEvent.fill.v1.sql: identity stamps of documents that are here already; an adoption does the same in batches.
-- Where documents are here already: an identity stamp that is newer than a parent is that parent's witness (invariant 4).
INSERT INTO dms.IdentityChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, CreatedAt)
SELECT c.IdentityVersion, c.DocumentId, c.ResourceKeyId, c.IdentityLastModifiedAt
FROM dms.Document AS c
WHERE EXISTS (
    SELECT * FROM dms.ReferenceEdge AS e JOIN dms.Document AS p ON p.DocumentId = e.ParentDocumentId
    WHERE e.ChildDocumentId = c.DocumentId AND p.ContentVersion < c.IdentityVersion AND p.IdentityVersion < c.IdentityVersion);

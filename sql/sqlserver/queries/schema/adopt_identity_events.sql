-- sql/sqlserver/queries/schema/adopt_identity_events.sql: identity stamps of a batch of documents that are newer than a parent: each is that parent's
-- witness (invariant 4). An edge that comes later stamps the parent above; a parent that is stamped meanwhile needs the event no more.
-- Binds: after_id, through_id.
INSERT INTO dms.IdentityChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, CreatedAt)
SELECT c.IdentityVersion, c.DocumentId, c.ResourceKeyId, c.IdentityLastModifiedAt
FROM dms.Document AS c
WHERE c.DocumentId > :after_id AND c.DocumentId <= :through_id AND EXISTS (
    SELECT * FROM dms.ReferenceEdge AS e INNER JOIN dms.Document AS p ON p.DocumentId = e.ParentDocumentId
    WHERE e.ChildDocumentId = c.DocumentId AND p.ContentVersion < c.IdentityVersion AND p.IdentityVersion < c.IdentityVersion)
  AND NOT EXISTS (
    SELECT * FROM dms.IdentityChangeEvent AS known WHERE known.ChangeVersion = c.IdentityVersion AND known.DocumentId = c.DocumentId);

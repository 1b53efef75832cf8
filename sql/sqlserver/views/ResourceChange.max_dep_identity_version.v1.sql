-- sql/sqlserver/views/ResourceChange.max_dep_identity_version.v1.sql: ResourceChange with option max_dep_identity_version: the same rows. That
-- no child is newer is told by the document itself, or by its children (views/ResourceChange.v1.sql) while the column is not exact.
CREATE VIEW dms.ResourceChange
    (ResourceKeyId, ChangeVersion, DocumentId, DocumentUuid, ContentVersion, IdentityVersion, KeyValues, WitnessDocumentId, CommittedAt) AS
SELECT e.ResourceKeyId, e.ChangeVersion, e.DocumentId, d.DocumentUuid, d.ContentVersion, d.IdentityVersion, d.KeyValues,
       d.DocumentId, e.CreatedAt
FROM dms.DocumentChangeEvent AS e
INNER JOIN dms.Document AS d
    ON d.DocumentId = e.DocumentId
   AND CASE WHEN d.ContentVersion > d.IdentityVersion THEN d.ContentVersion ELSE d.IdentityVersion END = e.ChangeVersion
WHERE d.MaxDepIdentityVersion <= e.ChangeVersion
  AND (NOT EXISTS (SELECT * FROM dms.MaxDepIdentityPending)
       OR NOT EXISTS (
           SELECT * FROM dms.ReferenceEdge AS r INNER JOIN dms.Document AS c ON c.DocumentId = r.ChildDocumentId
           WHERE r.ParentDocumentId = d.DocumentId AND c.IdentityVersion > e.ChangeVersion))
UNION ALL
SELECT r.ParentResourceKeyId, i.ChangeVersion, r.ParentDocumentId, d.DocumentUuid, d.ContentVersion, d.IdentityVersion, d.KeyValues,
       i.DocumentId, i.CreatedAt
FROM dms.IdentityChangeEvent AS i
CROSS APPLY (  -- before the edges: an event that was overtaken must not cost its child's parents
    SELECT TOP (1) DocumentId FROM dms.Document WHERE DocumentId = i.DocumentId AND IdentityVersion = i.ChangeVersion) AS child
INNER JOIN dms.ReferenceEdge AS r ON r.ChildDocumentId = child.DocumentId AND r.ParentDocumentId <> child.DocumentId
INNER JOIN dms.Document AS d
    ON d.DocumentId = r.ParentDocumentId AND d.ContentVersion < i.ChangeVersion AND d.IdentityVersion < i.ChangeVersion
WHERE d.MaxDepIdentityVersion <= i.ChangeVersion
  AND (NOT EXISTS (SELECT * FROM dms.MaxDepIdentityPending)
       OR NOT EXISTS (
           SELECT * FROM dms.ReferenceEdge AS s INNER JOIN dms.Document AS c ON c.DocumentId = s.ChildDocumentId
           WHERE s.ParentDocumentId = d.DocumentId AND c.IdentityVersion > i.ChangeVersion));

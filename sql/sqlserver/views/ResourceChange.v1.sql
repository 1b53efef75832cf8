-- sql/sqlserver/views/ResourceChange.v1.sql: each live document once, at its derived ChangeVersion, with the one event that witnesses
-- it (invariant 4): its own event, or the identity event of the child with the newest identity stamp.
-- Bound it by ChangeVersion, at most by a horizon that was read before: a range reaches both journals' indexes. Bound it by
-- ResourceKeyId too where one resource is read. Exact in one statement under READ_COMMITTED_SNAPSHOT and SNAPSHOT; under plain READ
-- COMMITTED a document that changes meanwhile can show an older version of itself.
CREATE VIEW dms.ResourceChange
    (ResourceKeyId, ChangeVersion, DocumentId, DocumentUuid, ContentVersion, IdentityVersion, KeyValues, WitnessDocumentId, CommittedAt) AS
SELECT e.ResourceKeyId, e.ChangeVersion, e.DocumentId, d.DocumentUuid, d.ContentVersion, d.IdentityVersion, d.KeyValues,
       d.DocumentId, e.CreatedAt
FROM dms.DocumentChangeEvent AS e
INNER JOIN dms.Document AS d
    ON d.DocumentId = e.DocumentId
   AND CASE WHEN d.ContentVersion > d.IdentityVersion THEN d.ContentVersion ELSE d.IdentityVersion END = e.ChangeVersion
WHERE NOT EXISTS (
    SELECT * FROM dms.ReferenceEdge AS r INNER JOIN dms.Document AS c ON c.DocumentId = r.ChildDocumentId
    WHERE r.ParentDocumentId = d.DocumentId AND c.IdentityVersion > e.ChangeVersion)
UNION ALL
SELECT r.ParentResourceKeyId, i.ChangeVersion, r.ParentDocumentId, d.DocumentUuid, d.ContentVersion, d.IdentityVersion, d.KeyValues,
       i.DocumentId, i.CreatedAt
FROM dms.IdentityChangeEvent AS i
CROSS APPLY (  -- before the edges: an event that was overtaken must not cost its child's parents
    SELECT TOP (1) DocumentId FROM dms.Document WHERE DocumentId = i.DocumentId AND IdentityVersion = i.ChangeVersion) AS child
INNER JOIN dms.ReferenceEdge AS r ON r.ChildDocumentId = child.DocumentId AND r.ParentDocumentId <> child.DocumentId
INNER JOIN dms.Document AS d
    ON d.DocumentId = r.ParentDocumentId AND d.ContentVersion < i.ChangeVersion AND d.IdentityVersion < i.ChangeVersion
WHERE NOT EXISTS (
    SELECT * FROM dms.ReferenceEdge AS s INNER JOIN dms.Document AS c ON c.DocumentId = s.ChildDocumentId
    WHERE s.ParentDocumentId = d.DocumentId AND c.IdentityVersion > i.ChangeVersion);
-- drop: DROP VIEW dms.ResourceChange;

-- sql/postgres/views/ResourceChange.max_dep_identity_version.v1.sql: ResourceChange with option max_dep_identity_version: the same rows. That no
-- child is newer is told by the document itself, or by its children (views/ResourceChange.v1.sql) while the column is not exact.
CREATE OR REPLACE VIEW dms.ResourceChange
    (ResourceKeyId, ChangeVersion, DocumentId, DocumentUuid, ContentVersion, IdentityVersion, KeyValues, WitnessDocumentId, CommittedAt) AS
SELECT e.ResourceKeyId, e.ChangeVersion, e.DocumentId, d.DocumentUuid, d.ContentVersion, d.IdentityVersion, d.KeyValues,
       d.DocumentId, e.CreatedAt
FROM dms.DocumentChangeEvent AS e
JOIN dms.Document AS d ON d.DocumentId = e.DocumentId AND greatest(d.ContentVersion, d.IdentityVersion) = e.ChangeVersion
WHERE CASE WHEN (SELECT NOT EXISTS (SELECT FROM dms.MaxDepIdentityPending)) THEN d.MaxDepIdentityVersion <= e.ChangeVersion
           ELSE NOT EXISTS (
               SELECT FROM dms.ReferenceEdge AS r JOIN dms.Document AS c ON c.DocumentId = r.ChildDocumentId
               WHERE r.ParentDocumentId = d.DocumentId AND c.IdentityVersion > e.ChangeVersion) END
UNION ALL
SELECT r.ParentResourceKeyId, i.ChangeVersion, r.ParentDocumentId, d.DocumentUuid, d.ContentVersion, d.IdentityVersion, d.KeyValues,
       i.DocumentId, i.CreatedAt
FROM dms.IdentityChangeEvent AS i
CROSS JOIN LATERAL (  -- before the edges, whatever the planner expects: an event that was overtaken must not cost its child's parents
    SELECT DocumentId FROM dms.Document WHERE DocumentId = i.DocumentId AND IdentityVersion = i.ChangeVersion OFFSET 0) AS child
JOIN dms.ReferenceEdge AS r ON r.ChildDocumentId = child.DocumentId AND r.ParentDocumentId <> child.DocumentId
JOIN dms.Document AS d ON d.DocumentId = r.ParentDocumentId AND greatest(d.ContentVersion, d.IdentityVersion) < i.ChangeVersion
WHERE CASE WHEN (SELECT NOT EXISTS (SELECT FROM dms.MaxDepIdentityPending)) THEN d.MaxDepIdentityVersion <= i.ChangeVersion
           ELSE NOT EXISTS (
               SELECT FROM dms.ReferenceEdge AS s JOIN dms.Document AS c ON c.DocumentId = s.ChildDocumentId
               WHERE s.ParentDocumentId = d.DocumentId AND c.IdentityVersion > i.ChangeVersion) END;

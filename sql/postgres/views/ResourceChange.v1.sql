-- sql/postgres/views/ResourceChange.v1.sql: each live document once, at its derived ChangeVersion, with the one event that witnesses
-- it (invariant 4): its own event, or the identity event of the child with the newest identity stamp.
-- Bound it by ChangeVersion, at most by a horizon that was read before: a range reaches both journals' indexes. Bound it by
-- ResourceKeyId too where one resource is read. OR REPLACE: an option that goes leaves it so, and the grants on it stay.
CREATE OR REPLACE VIEW dms.ResourceChange
    (ResourceKeyId, ChangeVersion, DocumentId, DocumentUuid, ContentVersion, IdentityVersion, KeyValues, WitnessDocumentId, CommittedAt) AS
SELECT e.ResourceKeyId, e.ChangeVersion, e.DocumentId, d.DocumentUuid, d.ContentVersion, d.IdentityVersion, d.KeyValues,
       d.DocumentId, e.CreatedAt
FROM dms.DocumentChangeEvent AS e
JOIN dms.Document AS d ON d.DocumentId = e.DocumentId AND greatest(d.ContentVersion, d.IdentityVersion) = e.ChangeVersion
WHERE NOT EXISTS (
    SELECT FROM dms.ReferenceEdge AS r JOIN dms.Document AS c ON c.DocumentId = r.ChildDocumentId
    WHERE r.ParentDocumentId = d.DocumentId AND c.IdentityVersion > e.ChangeVersion)
UNION ALL
SELECT r.ParentResourceKeyId, i.ChangeVersion, r.ParentDocumentId, d.DocumentUuid, d.ContentVersion, d.IdentityVersion, d.KeyValues,
       i.DocumentId, i.CreatedAt
FROM dms.IdentityChangeEvent AS i
CROSS JOIN LATERAL (  -- before the edges, whatever the planner expects: an event that was overtaken must not cost its child's parents
    SELECT DocumentId FROM dms.Document WHERE DocumentId = i.DocumentId AND IdentityVersion = i.ChangeVersion OFFSET 0) AS child
JOIN dms.ReferenceEdge AS r ON r.ChildDocumentId = child.DocumentId AND r.ParentDocumentId <> child.DocumentId
JOIN dms.Document AS d ON d.DocumentId = r.ParentDocumentId AND greatest(d.ContentVersion, d.IdentityVersion) < i.ChangeVersion
WHERE NOT EXISTS (
    SELECT FROM dms.ReferenceEdge AS s JOIN dms.Document AS c ON c.DocumentId = s.ChildDocumentId
    WHERE s.ParentDocumentId = d.DocumentId AND c.IdentityVersion > i.ChangeVersion);
COMMENT ON VIEW dms.ResourceChange IS 'dmsjournal: each live document at its derived ChangeVersion';
-- drop: DROP VIEW dms.ResourceChange;

-- sql/postgres/queries/operate/verify_edges.sql: the edges of a batch of parents that break invariant 3: one row an edge and code.
-- Binds: after (exclusive), last (inclusive): ParentDocumentIds. Gives: code, parent_id, child_id; is_stale: the parent needs a stamp.
-- A child's identity stamp above its parent's local version has an identity event. Where the child's own event says that the stamp
--   was its first, the edge came without a stamp for the parent; where it says update, the event is missing (verify_documents), and
--   where there is no event, the child's stamps are (verify_documents as well).
-- Exact while others write: one snapshot, as in verify_documents.
-- Plan:  a range of PK_ReferenceEdge; lookups by key.
WITH floors AS MATERIALIZED (
    SELECT coalesce(max(ChangeVersion) FILTER (WHERE Journal = 'IdentityChangeEvent'), 9223372036854775807) AS identity
    FROM dms.JournalFloor
),
checked AS MATERIALIZED (
    SELECT e.ParentDocumentId, e.ChildDocumentId,
           parent.ResourceKeyId IS NULL OR child.ResourceKeyId IS NULL AS is_dangling,
           coalesce(e.ParentResourceKeyId <> parent.ResourceKeyId, false) AS is_misfiled,
           known.found IS NULL AND parent.ResourceKeyId IS NOT NULL AND child.ResourceKeyId IS NOT NULL AS is_unknown,
           coalesce(child.IdentityVersion > parent.local, false) AS is_newer,
           first.Operation = 'insert' AND child.IdentityVersion > floors.identity AND witness.found IS NULL AS is_first
    FROM dms.ReferenceEdge AS e
    CROSS JOIN floors
    LEFT JOIN LATERAL (SELECT ResourceKeyId, greatest(ContentVersion, IdentityVersion) AS local
                       FROM dms.Document WHERE DocumentId = e.ParentDocumentId OFFSET 0) AS parent ON true
    LEFT JOIN LATERAL (SELECT ResourceKeyId, IdentityVersion
                       FROM dms.Document WHERE DocumentId = e.ChildDocumentId OFFSET 0) AS child ON true
    LEFT JOIN LATERAL (SELECT true AS found FROM dms.ResourceDependency
                       WHERE ParentResourceKeyId = parent.ResourceKeyId AND ChildResourceKeyId = child.ResourceKeyId
                       OFFSET 0) AS known ON true
    LEFT JOIN LATERAL (SELECT Operation FROM dms.DocumentChangeEvent
                       WHERE child.IdentityVersion > parent.local
                         AND ChangeVersion = child.IdentityVersion AND DocumentId = e.ChildDocumentId OFFSET 0) AS first ON true
    LEFT JOIN LATERAL (SELECT true AS found FROM dms.IdentityChangeEvent
                       WHERE child.IdentityVersion > parent.local
                         AND ChangeVersion = child.IdentityVersion AND DocumentId = e.ChildDocumentId OFFSET 0) AS witness ON true
    WHERE e.ParentDocumentId > CAST(:after AS bigint) AND e.ParentDocumentId <= CAST(:last AS bigint)
)
SELECT found.code, checked.ParentDocumentId AS parent_id, checked.ChildDocumentId AS child_id, found.is_stale
FROM checked
CROSS JOIN LATERAL (VALUES
    ('edge-dangling', is_dangling, false),
    ('edge-misfiled', is_misfiled, true),
    ('dependency-missing', is_unknown, is_newer),
    ('edge-unstamped', is_newer AND is_first, true)
) AS found (code, holds, is_stale)
WHERE found.holds
ORDER BY checked.ParentDocumentId, checked.ChildDocumentId, found.code

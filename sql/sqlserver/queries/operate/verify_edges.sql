-- sql/sqlserver/queries/operate/verify_edges.sql: the edges of a batch of parents that break invariant 3: one row an edge and code.
-- Binds: after (exclusive), last (inclusive): ParentDocumentIds. Gives: code, parent_id, child_id; is_stale: the parent needs a stamp.
-- A child's identity stamp above its parent's local version has an identity event. Where the child's own event says that the stamp
--   was its first, the edge came without a stamp for the parent; where it says update, the event is missing (verify_documents), and
--   where there is no event, the child's stamps are (verify_documents as well).
-- Exact while others write, at each isolation level, by the order of its statements: an edge first; then the child, then the parent,
-- which was stamped with the edge and whose version only rises; then the events that were committed with the child's stamp; then
-- whether the edge is still there; then the floor.
-- Plan:  a range of PK_ReferenceEdge; lookups by key.
SET NOCOUNT ON;
DECLARE @after bigint = :after, @last bigint = :last, @identity_floor bigint;
DECLARE @batch TABLE (
    ParentDocumentId    bigint   NOT NULL,
    ChildDocumentId     bigint   NOT NULL,
    ParentResourceKeyId smallint NOT NULL,
    ChildResource       smallint NULL,
    ChildIdentity       bigint   NULL,
    ParentResource      smallint NULL,
    ParentLocal         bigint   NULL,
    IsKnown             bit      NOT NULL DEFAULT 0,
    IsFirst             bit      NOT NULL DEFAULT 0,
    PRIMARY KEY (ParentDocumentId, ChildDocumentId)
);
INSERT INTO @batch (ParentDocumentId, ChildDocumentId, ParentResourceKeyId)
SELECT ParentDocumentId, ChildDocumentId, ParentResourceKeyId FROM dms.ReferenceEdge
WHERE ParentDocumentId > @after AND ParentDocumentId <= @last;
UPDATE batch SET ChildResource = child.ResourceKeyId, ChildIdentity = child.IdentityVersion
FROM @batch AS batch INNER JOIN dms.Document AS child ON child.DocumentId = batch.ChildDocumentId
OPTION (LOOP JOIN, FORCE ORDER);
UPDATE batch
SET ParentResource = parent.ResourceKeyId,
    ParentLocal = CASE WHEN parent.ContentVersion > parent.IdentityVersion THEN parent.ContentVersion ELSE parent.IdentityVersion END
FROM @batch AS batch INNER JOIN dms.Document AS parent ON parent.DocumentId = batch.ParentDocumentId
OPTION (LOOP JOIN, FORCE ORDER);
UPDATE batch SET IsKnown = 1
FROM @batch AS batch
WHERE EXISTS (
    SELECT * FROM dms.ResourceDependency AS known
    WHERE known.ParentResourceKeyId = batch.ParentResource AND known.ChildResourceKeyId = batch.ChildResource)
OPTION (LOOP JOIN);
UPDATE batch SET IsFirst = 1
FROM @batch AS batch
WHERE batch.ChildIdentity > batch.ParentLocal
  AND EXISTS (
    SELECT * FROM dms.DocumentChangeEvent AS event
    WHERE event.ChangeVersion = batch.ChildIdentity AND event.DocumentId = batch.ChildDocumentId AND event.Operation = 'insert')
  AND NOT EXISTS (
    SELECT * FROM dms.IdentityChangeEvent AS event
    WHERE event.ChangeVersion = batch.ChildIdentity AND event.DocumentId = batch.ChildDocumentId)
OPTION (LOOP JOIN);
DELETE batch
FROM @batch AS batch
WHERE NOT EXISTS (
    SELECT * FROM dms.ReferenceEdge AS edge
    WHERE edge.ParentDocumentId = batch.ParentDocumentId AND edge.ChildDocumentId = batch.ChildDocumentId)
OPTION (LOOP JOIN);
SELECT @identity_floor = MAX(ChangeVersion) FROM dms.JournalFloor WHERE Journal = N'IdentityChangeEvent';

SELECT found.code, found.ParentDocumentId AS parent_id, found.ChildDocumentId AS child_id, found.is_stale
FROM (
    SELECT 'edge-dangling' AS code, ParentDocumentId, ChildDocumentId, 0 AS is_stale
    FROM @batch WHERE ParentResource IS NULL OR ChildResource IS NULL
    UNION ALL
    SELECT 'edge-misfiled', ParentDocumentId, ChildDocumentId, 1
    FROM @batch WHERE ParentResourceKeyId <> ParentResource
    UNION ALL
    SELECT 'dependency-missing', ParentDocumentId, ChildDocumentId, CASE WHEN ChildIdentity > ParentLocal THEN 1 ELSE 0 END
    FROM @batch WHERE IsKnown = 0 AND ParentResource IS NOT NULL AND ChildResource IS NOT NULL
    UNION ALL
    SELECT 'edge-unstamped', ParentDocumentId, ChildDocumentId, 1
    FROM @batch WHERE IsFirst = 1 AND ChildIdentity > @identity_floor
) AS found
ORDER BY found.ParentDocumentId, found.ChildDocumentId, found.code;

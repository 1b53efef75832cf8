-- sql/sqlserver/queries/schema/adopt_dependencies.sql: which resources refer to which, for a batch of edges. Binds: after_id, through_id (parents).
-- Looks before it inserts: a writer that adds the same pair is waited for only where it must, as in triggers/reference_edge.v1.sql.
SET NOCOUNT ON;
DECLARE @pair TABLE (ParentResourceKeyId smallint NOT NULL, ChildResourceKeyId smallint NOT NULL);
INSERT INTO @pair (ParentResourceKeyId, ChildResourceKeyId)
SELECT DISTINCT e.ParentResourceKeyId, c.ResourceKeyId
FROM dms.ReferenceEdge AS e INNER JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId
WHERE e.ParentDocumentId > :after_id AND e.ParentDocumentId <= :through_id AND NOT EXISTS (
    SELECT * FROM dms.ResourceDependency AS known
    WHERE known.ParentResourceKeyId = e.ParentResourceKeyId AND known.ChildResourceKeyId = c.ResourceKeyId);
IF EXISTS (SELECT * FROM @pair)
    INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
    SELECT ParentResourceKeyId, ChildResourceKeyId FROM @pair AS pair
    WHERE NOT EXISTS (
        SELECT * FROM dms.ResourceDependency AS known WITH (UPDLOCK, HOLDLOCK)
        WHERE known.ParentResourceKeyId = pair.ParentResourceKeyId AND known.ChildResourceKeyId = pair.ChildResourceKeyId);

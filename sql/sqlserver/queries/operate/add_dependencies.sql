-- sql/sqlserver/queries/operate/add_dependencies.sql: the pairs of resources of edges. Binds: rows (JSON array of {parent_id, child_id}).
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
SELECT pair.ParentResourceKeyId, pair.ChildResourceKeyId
FROM (
    SELECT DISTINCT parent.ResourceKeyId AS ParentResourceKeyId, child.ResourceKeyId AS ChildResourceKeyId
    FROM OPENJSON(@rows) WITH (parent_id bigint '$.parent_id', child_id bigint '$.child_id') AS wanted
    INNER JOIN dms.Document AS parent ON parent.DocumentId = wanted.parent_id
    INNER JOIN dms.Document AS child ON child.DocumentId = wanted.child_id
) AS pair
WHERE NOT EXISTS (
    SELECT * FROM dms.ResourceDependency AS known WITH (UPDLOCK, HOLDLOCK)  -- another session may be adding the same pair
    WHERE known.ParentResourceKeyId = pair.ParentResourceKeyId AND known.ChildResourceKeyId = pair.ChildResourceKeyId);

-- sql/postgres/queries/operate/add_dependencies.sql: the pairs of resources of edges. Binds: rows (JSON array of {parent_id, child_id}).
INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
SELECT DISTINCT p.ResourceKeyId, c.ResourceKeyId
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (parent_id bigint, child_id bigint)
JOIN dms.Document AS p ON p.DocumentId = wanted.parent_id
JOIN dms.Document AS c ON c.DocumentId = wanted.child_id
ORDER BY p.ResourceKeyId, c.ResourceKeyId
ON CONFLICT DO NOTHING

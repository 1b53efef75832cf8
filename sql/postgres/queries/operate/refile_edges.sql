-- sql/postgres/queries/operate/refile_edges.sql: edges get the resource of their parent (by trigger, whatever is written here).
-- Binds: rows (JSON array of {parent_id, child_id}).
UPDATE dms.ReferenceEdge AS e SET ParentResourceKeyId = p.ResourceKeyId
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (parent_id bigint, child_id bigint)
JOIN dms.Document AS p ON p.DocumentId = wanted.parent_id
WHERE e.ParentDocumentId = wanted.parent_id AND e.ChildDocumentId = wanted.child_id

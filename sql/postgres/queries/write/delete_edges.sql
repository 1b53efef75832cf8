-- sql/postgres/queries/write/delete_edges.sql: removes edges. Binds: rows (JSON array of {parent_id, child_id}).
DELETE FROM dms.ReferenceEdge AS edge
USING jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (parent_id bigint, child_id bigint)
WHERE edge.ParentDocumentId = wanted.parent_id AND edge.ChildDocumentId = wanted.child_id

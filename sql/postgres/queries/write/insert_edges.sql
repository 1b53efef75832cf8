-- sql/postgres/queries/write/insert_edges.sql: new edges. Binds: rows (JSON array of {parent_id, child_id, is_identity_component}).
INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, IsIdentityComponent)
SELECT parent_id, child_id, is_identity_component
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (parent_id bigint, child_id bigint, is_identity_component boolean)
ORDER BY parent_id, child_id

-- sql/postgres/queries/write/update_edges.sql: whether edges are identity components. Binds: rows (as insert_edges.sql has them).
UPDATE dms.ReferenceEdge AS edge SET IsIdentityComponent = wanted.is_identity_component
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (parent_id bigint, child_id bigint, is_identity_component boolean)
WHERE edge.ParentDocumentId = wanted.parent_id AND edge.ChildDocumentId = wanted.child_id

-- sql/postgres/queries/write/edges_of.sql: what some documents refer to. Binds: document_ids (JSON array of ids).
SELECT edge.ParentDocumentId AS parent_id, edge.ChildDocumentId AS child_id, edge.IsIdentityComponent AS is_identity_component
FROM jsonb_array_elements_text(CAST(:document_ids AS jsonb)) AS wanted (document_id)
CROSS JOIN LATERAL (
    SELECT * FROM dms.ReferenceEdge WHERE ParentDocumentId = CAST(wanted.document_id AS bigint) OFFSET 0) AS edge

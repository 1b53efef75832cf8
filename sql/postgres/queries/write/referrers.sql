-- sql/postgres/queries/write/referrers.sql: the edges to some documents, by parent and child; a document's edge to itself is left out.
-- Binds: document_ids (JSON array of ids); most (rows, 1 or more). Plan: ranges of IX_ReferenceEdge_Child.
SELECT edge.ParentDocumentId AS parent_id, edge.ChildDocumentId AS child_id
FROM jsonb_array_elements_text(CAST(:document_ids AS jsonb)) AS wanted (document_id)
CROSS JOIN LATERAL (
    SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge
    WHERE ChildDocumentId = CAST(wanted.document_id AS bigint) AND ParentDocumentId <> ChildDocumentId
    LIMIT CAST(:most AS bigint)) AS edge
LIMIT CAST(:most AS bigint)

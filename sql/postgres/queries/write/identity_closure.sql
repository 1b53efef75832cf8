-- sql/postgres/queries/write/identity_closure.sql: the documents whose identity contains that of a document, at any distance: the edges
-- between them. Binds: document_id. Gives: parent_id, child_id; each edge once, also where references form a cycle.
WITH RECURSIVE closure (parent_id, child_id) AS (
    SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge
    WHERE ChildDocumentId = CAST(:document_id AS bigint) AND IsIdentityComponent AND ParentDocumentId <> ChildDocumentId
    UNION
    SELECT edge.ParentDocumentId, edge.ChildDocumentId
    FROM closure
    JOIN dms.ReferenceEdge AS edge ON edge.ChildDocumentId = closure.parent_id
    WHERE edge.IsIdentityComponent AND edge.ParentDocumentId <> edge.ChildDocumentId
)
SELECT parent_id, child_id FROM closure ORDER BY parent_id, child_id

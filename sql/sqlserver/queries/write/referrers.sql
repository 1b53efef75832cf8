-- sql/sqlserver/queries/write/referrers.sql: the edges to some documents, by parent and child; a document's edge to itself is left out.
-- Binds: document_ids (JSON array of ids); most (rows, 1 or more). Plan: ranges of IX_ReferenceEdge_Child.
SET NOCOUNT ON;
DECLARE @document_ids nvarchar(max) = :document_ids, @most bigint = :most;
SELECT TOP (@most) edge.ParentDocumentId AS parent_id, edge.ChildDocumentId AS child_id
FROM OPENJSON(@document_ids) AS listed
CROSS APPLY (
    SELECT TOP (@most) ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge
    WHERE ChildDocumentId = CAST(listed.value AS bigint) AND ParentDocumentId <> ChildDocumentId) AS edge;

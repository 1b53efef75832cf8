-- sql/sqlserver/queries/operate/remove_dangling_edges.sql: removes edges whose parent or child is gone; a parent that lives is stamped by trigger.
-- Binds: rows (JSON array of {parent_id, child_id}).
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
DELETE edge
FROM OPENJSON(@rows) WITH (parent_id bigint '$.parent_id', child_id bigint '$.child_id') AS wanted
INNER JOIN dms.ReferenceEdge AS edge ON edge.ParentDocumentId = wanted.parent_id AND edge.ChildDocumentId = wanted.child_id
WHERE NOT EXISTS (SELECT * FROM dms.Document AS parent WHERE parent.DocumentId = edge.ParentDocumentId)
   OR NOT EXISTS (SELECT * FROM dms.Document AS child WHERE child.DocumentId = edge.ChildDocumentId);

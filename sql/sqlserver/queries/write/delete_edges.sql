-- sql/sqlserver/queries/write/delete_edges.sql: removes edges. Binds: rows (JSON array of {parent_id, child_id}).
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
DELETE edge
FROM OPENJSON(@rows) WITH (parent_id bigint '$.parent_id', child_id bigint '$.child_id') AS wanted
INNER JOIN dms.ReferenceEdge AS edge ON edge.ParentDocumentId = wanted.parent_id AND edge.ChildDocumentId = wanted.child_id;

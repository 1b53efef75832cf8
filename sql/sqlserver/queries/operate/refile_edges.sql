-- sql/sqlserver/queries/operate/refile_edges.sql: edges get the resource of their parent. Binds: rows (JSON array of {parent_id, child_id}).
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
UPDATE edge SET ParentResourceKeyId = parent.ResourceKeyId
FROM OPENJSON(@rows) WITH (parent_id bigint '$.parent_id', child_id bigint '$.child_id') AS wanted
INNER JOIN dms.ReferenceEdge AS edge ON edge.ParentDocumentId = wanted.parent_id AND edge.ChildDocumentId = wanted.child_id
INNER JOIN dms.Document AS parent ON parent.DocumentId = wanted.parent_id;

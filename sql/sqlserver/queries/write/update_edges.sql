-- sql/sqlserver/queries/write/update_edges.sql: whether edges are identity components. Binds: rows (as insert_edges.sql has them).
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
UPDATE edge SET IsIdentityComponent = wanted.is_identity_component
FROM OPENJSON(@rows) WITH (
    parent_id             bigint '$.parent_id',
    child_id              bigint '$.child_id',
    is_identity_component bit    '$.is_identity_component'
) AS wanted
INNER JOIN dms.ReferenceEdge AS edge ON edge.ParentDocumentId = wanted.parent_id AND edge.ChildDocumentId = wanted.child_id;

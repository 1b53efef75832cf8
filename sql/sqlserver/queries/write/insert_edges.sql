-- sql/sqlserver/queries/write/insert_edges.sql: new edges. Binds: rows (JSON array of {parent_id, child_id, is_identity_component}).
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, IsIdentityComponent)
SELECT wanted.parent_id, wanted.child_id, wanted.is_identity_component
FROM OPENJSON(@rows) WITH (
    parent_id             bigint '$.parent_id',
    child_id              bigint '$.child_id',
    is_identity_component bit    '$.is_identity_component'
) AS wanted
ORDER BY wanted.parent_id, wanted.child_id;

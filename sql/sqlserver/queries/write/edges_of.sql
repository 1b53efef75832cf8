-- sql/sqlserver/queries/write/edges_of.sql: what some documents refer to. Binds: document_ids (JSON array of ids).
SET NOCOUNT ON;
DECLARE @document_ids nvarchar(max) = :document_ids;
DECLARE @wanted TABLE (DocumentId bigint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (DocumentId) SELECT DISTINCT CAST(value AS bigint) FROM OPENJSON(@document_ids);
SELECT edge.ParentDocumentId AS parent_id, edge.ChildDocumentId AS child_id, edge.IsIdentityComponent AS is_identity_component
FROM @wanted AS wanted INNER JOIN dms.ReferenceEdge AS edge ON edge.ParentDocumentId = wanted.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql

-- sql/sqlserver/queries/read_documents.sql: documents as they are now, in DocumentId order. Binds: document_ids (JSON array of ids).
-- A document that does not exist has no row; body is null where none is kept.
SET NOCOUNT ON;
DECLARE @document_ids nvarchar(max) = :document_ids;
DECLARE @wanted TABLE (DocumentId bigint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (DocumentId) SELECT DISTINCT CAST(value AS bigint) FROM OPENJSON(@document_ids);
SELECT document.DocumentId AS document_id, document.DocumentUuid AS document_uuid,
       resource.ProjectName AS project_name, resource.ResourceName AS resource_name, resource.ResourceVersion AS resource_version,
       document.KeyValues AS key_values, cache.DocumentJson AS body
FROM @wanted AS wanted
INNER JOIN dms.Document AS document ON document.DocumentId = wanted.DocumentId
INNER JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = document.ResourceKeyId
LEFT JOIN dms.DocumentCache AS cache ON cache.DocumentId = document.DocumentId
ORDER BY document.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql

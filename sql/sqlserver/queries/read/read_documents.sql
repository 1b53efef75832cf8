-- sql/sqlserver/queries/read/read_documents.sql: documents as they are now, in DocumentId order. Binds: document_ids (JSON array of ids).
-- with_values: whether to give keys and bodies (dmsjournal/read/unreadable.py).
-- A document that does not exist has no row; body is null where none is kept.
SET NOCOUNT ON;
DECLARE @document_ids nvarchar(max) = :document_ids, @with_values bit = :with_values;
DECLARE @wanted TABLE (DocumentId bigint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (DocumentId) SELECT DISTINCT CAST(value AS bigint) FROM OPENJSON(@document_ids);
SELECT document.DocumentId AS document_id, document.DocumentUuid AS document_uuid,
       resource.ProjectName AS project_name, resource.ResourceName AS resource_name, resource.ResourceVersion AS resource_version,
       CASE WHEN @with_values = 1 THEN document.KeyValues END AS key_values,
       CASE WHEN @with_values = 1 THEN cache.DocumentJson END AS body
FROM @wanted AS wanted
INNER JOIN dms.Document AS document ON document.DocumentId = wanted.DocumentId
INNER JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = document.ResourceKeyId
LEFT JOIN dms.DocumentCache AS cache ON cache.DocumentId = document.DocumentId
ORDER BY document.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql

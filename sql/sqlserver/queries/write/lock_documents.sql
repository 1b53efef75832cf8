-- sql/sqlserver/queries/write/lock_documents.sql: locks documents against other writers, in ascending DocumentId, and tells which are there.
-- Binds: document_ids (JSON array of ids).
SET NOCOUNT ON;
DECLARE @document_ids nvarchar(max) = :document_ids;
DECLARE @wanted TABLE (DocumentId bigint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (DocumentId) SELECT DISTINCT CAST(value AS bigint) FROM OPENJSON(@document_ids);
SELECT document.DocumentId AS document_id, document.ResourceKeyId AS resource_key_id, document.DocumentUuid AS document_uuid,
       document.KeyValues AS key_values
FROM @wanted AS wanted INNER JOIN dms.Document AS document WITH (UPDLOCK, ROWLOCK) ON document.DocumentId = wanted.DocumentId
ORDER BY document.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);  -- in the order of the ids: two writers that locked in different orders would meet in a deadlock

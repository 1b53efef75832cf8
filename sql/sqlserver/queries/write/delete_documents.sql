-- sql/sqlserver/queries/write/delete_documents.sql: deletes documents, none of which refers to another one of them; their edges and bodies go along.
-- Binds: document_ids (JSON array of ids). Gives: document_id of each that was there.
SET NOCOUNT ON;
DECLARE @document_ids nvarchar(max) = :document_ids;
DECLARE @wanted TABLE (DocumentId bigint NOT NULL PRIMARY KEY);
DECLARE @deleted TABLE (DocumentId bigint NOT NULL);
INSERT INTO @wanted (DocumentId) SELECT CAST(value AS bigint) FROM OPENJSON(@document_ids);
DELETE document
OUTPUT deleted.DocumentId INTO @deleted (DocumentId)
FROM @wanted AS wanted INNER JOIN dms.Document AS document ON document.DocumentId = wanted.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);
SELECT DocumentId AS document_id FROM @deleted;

-- sql/sqlserver/queries/write/delete_document.sql: deletes a document; its edges and its body go along. Binds: document_id.
SET NOCOUNT ON;
DECLARE @document_id bigint = :document_id;
DECLARE @deleted TABLE (DocumentId bigint NOT NULL);
DELETE FROM dms.Document OUTPUT deleted.DocumentId INTO @deleted (DocumentId) WHERE DocumentId = @document_id;
SELECT DocumentId AS document_id FROM @deleted;

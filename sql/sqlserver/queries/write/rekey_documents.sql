-- sql/sqlserver/queries/write/rekey_documents.sql: new key values for documents, which the caller has locked (lock_documents), each with an
-- identity stamp of its own. IdentityVersion = -1 is a signal: TR_Document_Stamp draws the stamp.
-- Binds: rows (JSON array of {document_id, is_moved, key_values}; key_values is canonical text); one that is not moved keeps its key values,
-- whatever was stored there.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
UPDATE document
SET KeyValues = CASE WHEN listed.is_moved = 1 THEN listed.key_values ELSE document.KeyValues END, IdentityVersion = -1
FROM OPENJSON(@rows) WITH (document_id bigint '$.document_id', is_moved bit '$.is_moved', key_values nvarchar(max) '$.key_values') AS listed
INNER JOIN dms.Document AS document ON document.DocumentId = listed.document_id;

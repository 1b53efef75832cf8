-- sql/sqlserver/queries/rekey_documents.sql: new key values for documents, which the caller has locked (lock_documents), each with an
-- identity stamp of its own. IdentityVersion = -1 is a signal: TR_Document_Stamp draws the stamp.
-- Binds: rows (JSON array of {document_id, key_values}; key_values is canonical text).
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
UPDATE document SET KeyValues = listed.key_values, IdentityVersion = -1
FROM OPENJSON(@rows) WITH (document_id bigint '$.document_id', key_values nvarchar(max) '$.key_values') AS listed
INNER JOIN dms.Document AS document ON document.DocumentId = listed.document_id;

-- sql/postgres/queries/write/rekey_documents.sql: new key values for documents, which the caller has locked (lock_documents), each with an
-- identity stamp of its own, in ascending DocumentId. IdentityVersion = NULL is a signal: stamp_update draws the stamp.
-- Binds: rows (JSON array of {document_id, is_moved, key_values}); one that is not moved keeps its key values, whatever was stored there.
UPDATE dms.Document AS document
SET KeyValues = CASE WHEN wanted.is_moved THEN wanted.key_values ELSE document.KeyValues END, IdentityVersion = NULL
FROM (SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS listed (document_id bigint, is_moved boolean, key_values jsonb)
      ORDER BY document_id OFFSET 0) AS wanted
WHERE document.DocumentId = wanted.document_id

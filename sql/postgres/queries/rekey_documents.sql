-- sql/postgres/queries/rekey_documents.sql: new key values for documents, which the caller has locked (lock_documents), each with an
-- identity stamp of its own, in ascending DocumentId. IdentityVersion = NULL is a signal: stamp_update draws the stamp.
-- Binds: rows (JSON array of {document_id, key_values}).
UPDATE dms.Document AS document SET KeyValues = wanted.key_values, IdentityVersion = NULL
FROM (SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS listed (document_id bigint, key_values jsonb) ORDER BY document_id OFFSET 0)
    AS wanted
WHERE document.DocumentId = wanted.document_id

-- sql/postgres/queries/write/delete_documents.sql: deletes documents, none of which refers to another one of them; their edges and bodies go along.
-- Binds: document_ids (JSON array of ids). Gives: document_id of each that was there.
DELETE FROM dms.Document
WHERE DocumentId = ANY (ARRAY(SELECT CAST(value AS bigint) FROM jsonb_array_elements_text(CAST(:document_ids AS jsonb)) AS listed (value)))
RETURNING DocumentId AS document_id

-- sql/postgres/queries/write/delete_document.sql: deletes a document; its edges and its body go along. Binds: document_id.
DELETE FROM dms.Document WHERE DocumentId = CAST(:document_id AS bigint) RETURNING DocumentId AS document_id

-- sql/postgres/queries/write/update_documents.sql: new bodies for documents, which the caller has locked (lock_documents).
-- Binds: rows (JSON array of {document_id, body, etag}). ContentVersion = NULL is a signal: stamp_update draws the stamp.
WITH wanted AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS listed (document_id bigint, body jsonb, etag varchar)
),
stamped AS (
    UPDATE dms.Document SET ContentVersion = NULL
    WHERE DocumentId = ANY (ARRAY(SELECT document_id FROM wanted))
    RETURNING DocumentId, ContentVersion, ContentLastModifiedAt
)
INSERT INTO dms.DocumentCache AS cache (DocumentId, DocumentJson, Etag, LastModifiedAt, ComputedVersion)
SELECT stamped.DocumentId, wanted.body, wanted.etag, stamped.ContentLastModifiedAt, stamped.ContentVersion
FROM stamped JOIN wanted ON wanted.document_id = stamped.DocumentId
ON CONFLICT (DocumentId) DO UPDATE
SET DocumentJson = excluded.DocumentJson, Etag = excluded.Etag, LastModifiedAt = excluded.LastModifiedAt,
    ComputedVersion = excluded.ComputedVersion

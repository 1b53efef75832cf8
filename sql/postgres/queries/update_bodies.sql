-- sql/postgres/queries/update_bodies.sql: the bodies of documents whose keys changed; the identity stamp tells of it.
-- Binds: rows (JSON array of {document_id, body, etag}).
UPDATE dms.DocumentCache AS cache SET DocumentJson = wanted.body, Etag = wanted.etag, LastModifiedAt = clock_timestamp()
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (document_id bigint, body jsonb, etag varchar)
WHERE cache.DocumentId = wanted.document_id

-- sql/postgres/queries/write/update_bodies.sql: the bodies of documents that an identity change stamped; the identity stamp tells of it.
-- Binds: rows (JSON array of {document_id, body, etag}); document_ids (JSON array: all that the identity change stamped). What a body says of
--   other documents' keys is as of the last of these stamps: ComputedVersion.
UPDATE dms.DocumentCache AS cache
SET DocumentJson = wanted.body, Etag = wanted.etag, LastModifiedAt = clock_timestamp(), ComputedVersion = (
    SELECT max(IdentityVersion) FROM dms.Document
    WHERE DocumentId = ANY (ARRAY(SELECT CAST(value AS bigint) FROM jsonb_array_elements_text(CAST(:document_ids AS jsonb)) AS listed (value))))
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (document_id bigint, body jsonb, etag varchar)
WHERE cache.DocumentId = wanted.document_id

-- sql/postgres/queries/operate/verify_bodies.sql: the bodies of a batch that are longer than CK_DocumentCache_DocumentJson takes as it was shipped.
-- Binds: after (exclusive), last (inclusive; DocumentIds). Gives: as verify_documents.sql; nothing is to be
-- signalled.
-- The text is made where the check makes it. A body whose text cannot be made refuses the statement: verify asks for less and less.
-- Plan:  a range of PK_DocumentCache.
SELECT 'body-too-long' AS code, DocumentId AS document_id, false AS is_content, false AS is_identity, false AS is_key,
       0 AS content_version, 0 AS identity_version
FROM dms.DocumentCache
WHERE DocumentId > CAST(:after AS bigint) AND DocumentId <= CAST(:last AS bigint)
  AND NOT (pg_column_size(DocumentJson) <= 7000 AND pg_column_compression(DocumentJson) IS NULL
           OR octet_length(DocumentJson::text) <= 67108864)
ORDER BY DocumentId

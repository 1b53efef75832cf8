-- sql/sqlserver/queries/operate/verify_bodies.sql: the bodies of a batch that are longer than CK_DocumentCache_DocumentJson takes as it was shipped.
-- Binds: after (exclusive), last (inclusive; DocumentIds). Gives: as verify_documents.sql; nothing is to be
-- signalled. Plan: a range of PK_DocumentCache.
SET NOCOUNT ON;
DECLARE @after bigint = :after, @last bigint = :last;
SELECT 'body-too-long' AS code, DocumentId AS document_id, CAST(0 AS bit) AS is_content, CAST(0 AS bit) AS is_identity, CAST(0 AS bit) AS is_key,
       0 AS content_version, 0 AS identity_version
FROM dms.DocumentCache
WHERE DocumentId > @after AND DocumentId <= @last AND DATALENGTH(DocumentJson) > 134217728
ORDER BY DocumentId;

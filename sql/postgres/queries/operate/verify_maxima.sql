-- sql/postgres/queries/operate/verify_maxima.sql: option max_dep_identity_version: the documents of a batch whose stored maximum is below a child's
-- identity stamp, where readers go by it: the triggers that keep it did not fire.
-- Binds: after (exclusive), last (inclusive): DocumentIds. Gives: what verify_documents gives.
-- Exact while others write: one snapshot. A rename and what it raises are committed together, or there is a row in MaxDepIdentityPending.
-- Plan:  a range of PK_Document; lookups by key.
SELECT 'maximum-stale' AS code, d.DocumentId AS document_id, true AS is_content, false AS is_identity, false AS is_key,
       d.ContentVersion AS content_version, d.IdentityVersion AS identity_version
FROM dms.Document AS d
CROSS JOIN LATERAL (
    SELECT max(child.IdentityVersion) AS version
    FROM dms.ReferenceEdge AS edge
    CROSS JOIN LATERAL (SELECT IdentityVersion FROM dms.Document WHERE DocumentId = edge.ChildDocumentId OFFSET 0) AS child
    WHERE edge.ParentDocumentId = d.DocumentId
    OFFSET 0
) AS newest_child
WHERE d.DocumentId > CAST(:after AS bigint) AND d.DocumentId <= CAST(:last AS bigint)
  AND greatest(d.ContentVersion, d.IdentityVersion, d.MaxDepIdentityVersion) < newest_child.version
  AND NOT EXISTS (SELECT FROM dms.MaxDepIdentityPending)
ORDER BY d.DocumentId

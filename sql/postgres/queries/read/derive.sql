-- sql/postgres/queries/read/derive.sql: what a document's ChangeVersion, etag and last-modified date derive from: one row a document and child,
-- one with an empty child where it refers to nothing; by document, then by child.
-- Binds: document_ids (JSON array of ids, each once). A document that does not exist has no row.
SELECT document.DocumentId AS document_id, document.ContentVersion AS content_version, document.IdentityVersion AS identity_version,
       greatest(document.ContentLastModifiedAt, document.IdentityLastModifiedAt) AS last_modified,
       child.DocumentId AS child_id, child.IdentityVersion AS child_version, child.IdentityLastModifiedAt AS child_last_modified
FROM jsonb_array_elements_text(CAST(:document_ids AS jsonb)) AS wanted (document_id)
CROSS JOIN LATERAL (
    SELECT * FROM dms.Document WHERE DocumentId = CAST(wanted.document_id AS bigint) OFFSET 0) AS document
LEFT JOIN LATERAL (SELECT ChildDocumentId FROM dms.ReferenceEdge WHERE ParentDocumentId = document.DocumentId OFFSET 0) AS edge ON true
LEFT JOIN LATERAL (
    SELECT DocumentId, IdentityVersion, IdentityLastModifiedAt
    FROM dms.Document WHERE DocumentId = edge.ChildDocumentId OFFSET 0) AS child ON true
ORDER BY document.DocumentId, child.DocumentId

-- sql/sqlserver/queries/read/derive.sql: what a document's ChangeVersion, etag and last-modified date derive from: one row a document and child,
-- one with an empty child where it refers to nothing; by document, then by child.
-- Binds: document_ids (JSON array of ids). A document that does not exist has no row.
SET NOCOUNT ON;
DECLARE @document_ids nvarchar(max) = :document_ids;
DECLARE @wanted TABLE (DocumentId bigint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (DocumentId) SELECT DISTINCT CAST(value AS bigint) FROM OPENJSON(@document_ids);
SELECT document.DocumentId AS document_id, document.ContentVersion AS content_version, document.IdentityVersion AS identity_version,
       CASE WHEN document.ContentLastModifiedAt > document.IdentityLastModifiedAt THEN document.ContentLastModifiedAt
            ELSE document.IdentityLastModifiedAt END AS last_modified,
       child.DocumentId AS child_id, child.IdentityVersion AS child_version, child.IdentityLastModifiedAt AS child_last_modified
FROM @wanted AS wanted
INNER JOIN dms.Document AS document ON document.DocumentId = wanted.DocumentId
LEFT JOIN dms.ReferenceEdge AS edge ON edge.ParentDocumentId = document.DocumentId
LEFT JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
ORDER BY document.DocumentId, child.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);  -- lookups: a join that was planned for many ids scans the documents for one

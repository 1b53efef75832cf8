-- sql/sqlserver/queries/write/update_documents.sql: new bodies for documents, which the caller has locked (lock_documents).
-- Binds: rows (JSON array of {document_id, body, etag}; body is JSON as text). ContentVersion = -1 is a signal: TR_Document_Stamp draws
-- the stamp.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
DECLARE @wanted TABLE (document_id bigint NOT NULL PRIMARY KEY, body nvarchar(max) NOT NULL, etag varchar(64) NOT NULL);
INSERT INTO @wanted (document_id, body, etag)
SELECT listed.document_id, listed.body, listed.etag
FROM OPENJSON(@rows) WITH (document_id bigint '$.document_id', body nvarchar(max) '$.body', etag varchar(64) '$.etag') AS listed;
UPDATE document SET ContentVersion = -1
FROM @wanted AS wanted INNER JOIN dms.Document AS document ON document.DocumentId = wanted.document_id
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql
UPDATE cache
SET DocumentJson = wanted.body, Etag = wanted.etag, LastModifiedAt = document.ContentLastModifiedAt, ComputedVersion = document.ContentVersion
FROM @wanted AS wanted
INNER JOIN dms.Document AS document ON document.DocumentId = wanted.document_id
INNER JOIN dms.DocumentCache AS cache ON cache.DocumentId = wanted.document_id
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql
INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, LastModifiedAt, ComputedVersion)
SELECT wanted.document_id, wanted.body, wanted.etag, document.ContentLastModifiedAt, document.ContentVersion
FROM @wanted AS wanted INNER JOIN dms.Document AS document ON document.DocumentId = wanted.document_id
WHERE NOT EXISTS (SELECT * FROM dms.DocumentCache AS known WHERE known.DocumentId = wanted.document_id)
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql

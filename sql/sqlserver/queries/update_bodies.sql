-- sql/sqlserver/queries/update_bodies.sql: the bodies of documents whose keys changed; the identity stamp tells of it.
-- Binds: rows (JSON array of {document_id, body, etag}; body is JSON as text).
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
UPDATE cache SET DocumentJson = listed.body, Etag = listed.etag, LastModifiedAt = SYSUTCDATETIME()
FROM OPENJSON(@rows) WITH (document_id bigint '$.document_id', body nvarchar(max) '$.body', etag varchar(64) '$.etag') AS listed
INNER JOIN dms.DocumentCache AS cache ON cache.DocumentId = listed.document_id;

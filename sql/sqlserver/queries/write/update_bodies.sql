-- sql/sqlserver/queries/write/update_bodies.sql: the bodies of documents that an identity change stamped; the identity stamp tells of it.
-- Binds: rows (JSON array of {document_id, body, etag}; body is JSON as text); document_ids (JSON array: all that the identity change stamped).
--   What a body says of other documents' keys is as of the last of these stamps: ComputedVersion.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows, @document_ids nvarchar(max) = :document_ids, @computed bigint;
SELECT @computed = MAX(document.IdentityVersion)
FROM OPENJSON(@document_ids) AS listed
INNER JOIN dms.Document AS document ON document.DocumentId = CAST(listed.value AS bigint);
UPDATE cache SET DocumentJson = listed.body, Etag = listed.etag, LastModifiedAt = SYSUTCDATETIME(), ComputedVersion = @computed
FROM OPENJSON(@rows) WITH (document_id bigint '$.document_id', body nvarchar(max) '$.body', etag varchar(64) '$.etag') AS listed
INNER JOIN dms.DocumentCache AS cache ON cache.DocumentId = listed.document_id;

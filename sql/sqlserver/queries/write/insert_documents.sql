-- sql/sqlserver/queries/write/insert_documents.sql: new documents with their bodies, with ids in the order of the rows.
-- Binds: rows (JSON array of {document_uuid, resource_key_id, key_values, body, etag}; key_values and body are JSON as text).
-- Gives: document_uuid, document_id. The ids are looked up: where a trigger inserts instead (adopt/names.sql), OUTPUT does not know them.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
DECLARE @wanted TABLE (
    ordinal         int              NOT NULL PRIMARY KEY,
    document_uuid   uniqueidentifier NOT NULL UNIQUE,
    resource_key_id smallint         NOT NULL,
    key_values      nvarchar(max)    NULL,
    body            nvarchar(max)    NOT NULL,
    etag            varchar(64)      NOT NULL
);
DECLARE @inserted TABLE (DocumentId bigint NOT NULL PRIMARY KEY, DocumentUuid uniqueidentifier NOT NULL);
INSERT INTO @wanted (ordinal, document_uuid, resource_key_id, key_values, body, etag)
SELECT CAST(item.[key] AS int), listed.document_uuid, listed.resource_key_id, listed.key_values, listed.body, listed.etag
FROM OPENJSON(@rows) AS item
CROSS APPLY OPENJSON(item.value) WITH (
    document_uuid   uniqueidentifier '$.document_uuid',
    resource_key_id smallint         '$.resource_key_id',
    key_values      nvarchar(max)    '$.key_values',
    body            nvarchar(max)    '$.body',
    etag            varchar(64)      '$.etag'
) AS listed;
INSERT INTO dms.Document (DocumentUuid, ResourceKeyId, KeyValues)
SELECT document_uuid, resource_key_id, key_values FROM @wanted ORDER BY ordinal;
INSERT INTO @inserted (DocumentId, DocumentUuid)
SELECT document.DocumentId, document.DocumentUuid
FROM @wanted AS wanted INNER JOIN dms.Document AS document ON document.DocumentUuid = wanted.document_uuid
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql
INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, LastModifiedAt, ComputedVersion)
SELECT inserted.DocumentId, wanted.body, wanted.etag, document.ContentLastModifiedAt, document.ContentVersion
FROM @inserted AS inserted
INNER JOIN @wanted AS wanted ON wanted.document_uuid = inserted.DocumentUuid
INNER JOIN dms.Document AS document ON document.DocumentId = inserted.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql
SELECT DocumentUuid AS document_uuid, DocumentId AS document_id FROM @inserted;

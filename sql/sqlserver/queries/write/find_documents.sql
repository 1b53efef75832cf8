-- sql/sqlserver/queries/write/find_documents.sql: the documents with certain keys, and whether their stored body equals another.
-- Binds: rows (JSON array of {ordinal, resource_key_id, key_values, etag}; key_values is canonical text, etag may be absent).
-- Gives: ordinal, document_id, document_uuid, same_body; no row for a key that no document has, the lowest id first where two have it.
-- Plan: a lookup in IX_Document_KeyValues each; the text is compared too.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
DECLARE @wanted TABLE (
    ordinal         int           NOT NULL PRIMARY KEY,
    resource_key_id smallint      NOT NULL,
    key_values      nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    etag            varchar(64)   COLLATE Latin1_General_100_BIN2 NULL
);
INSERT INTO @wanted (ordinal, resource_key_id, key_values, etag)
SELECT listed.ordinal, listed.resource_key_id, listed.key_values, listed.etag
FROM OPENJSON(@rows) WITH (
    ordinal         int           '$.ordinal',
    resource_key_id smallint      '$.resource_key_id',
    key_values      nvarchar(max) '$.key_values',
    etag            varchar(64)   '$.etag'
) AS listed;
SELECT wanted.ordinal, document.DocumentId AS document_id, document.DocumentUuid AS document_uuid,
       CASE WHEN cache.Etag = wanted.etag THEN 1 ELSE 0 END AS same_body
FROM @wanted AS wanted
INNER JOIN dms.Document AS document
    ON document.ResourceKeyId = wanted.resource_key_id
   AND document.KeyValuesHash = CAST(HASHBYTES('SHA2_256', wanted.key_values) AS binary(32))
   AND document.KeyValues = wanted.key_values
LEFT JOIN dms.DocumentCache AS cache ON cache.DocumentId = document.DocumentId
ORDER BY wanted.ordinal, document.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql

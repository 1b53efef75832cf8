-- sql/sqlserver/queries/write/used_uuids.sql: which of some uuids name a document, living or deleted. Binds: uuids (JSON array of text).
SET NOCOUNT ON;
DECLARE @uuids nvarchar(max) = :uuids;
DECLARE @wanted TABLE (DocumentUuid uniqueidentifier NOT NULL PRIMARY KEY);
INSERT INTO @wanted (DocumentUuid) SELECT DISTINCT CAST(value AS uniqueidentifier) FROM OPENJSON(@uuids);
SELECT wanted.DocumentUuid AS document_uuid, CASE WHEN document.DocumentId IS NULL THEN 0 ELSE 1 END AS is_alive
FROM @wanted AS wanted
LEFT JOIN dms.Document AS document ON document.DocumentUuid = wanted.DocumentUuid
WHERE document.DocumentId IS NOT NULL
   OR EXISTS (SELECT * FROM dms.DocumentDeleteEvent AS event WHERE event.DocumentUuid = wanted.DocumentUuid)
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql

-- sql/sqlserver/queries/read/nth_document.sql: the n-th live document of some resources from an id on, by id; no row where there are fewer.
-- Binds: resource_key_ids (JSON array, each once); is_everything (1: of all resources, whatever the array has; else 0); from_id (inclusive); number
--   (1 or more). Gives: document_id.
-- Plan: a range of the primary key, or of IX_Document_ResourceKeyId for each of the resources; up to `number` entries of each.
SET NOCOUNT ON;
DECLARE @resource_key_ids nvarchar(max) = :resource_key_ids, @is_everything bit = :is_everything, @from_id bigint = :from_id, @number bigint = :number;
DECLARE @wanted TABLE (ResourceKeyId smallint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (ResourceKeyId) SELECT DISTINCT CAST(value AS smallint) FROM OPENJSON(@resource_key_ids);
SELECT document.DocumentId AS document_id
FROM (
    SELECT every.DocumentId
    FROM (
        SELECT TOP (@number) DocumentId FROM dms.Document WHERE @is_everything = 1 AND DocumentId >= @from_id ORDER BY DocumentId
    ) AS every
    UNION ALL
    SELECT listed.DocumentId
    FROM @wanted AS wanted
    CROSS APPLY (
        SELECT TOP (@number) DocumentId FROM dms.Document
        WHERE ResourceKeyId = wanted.ResourceKeyId AND @is_everything = 0 AND DocumentId >= @from_id
        ORDER BY DocumentId
    ) AS listed
) AS document
ORDER BY document.DocumentId
OFFSET @number - 1 ROWS FETCH NEXT 1 ROWS ONLY;

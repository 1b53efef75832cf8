-- sql/sqlserver/queries/read/nth_delete.sql: the version of the n-th tombstone of some resources in a window; no row where there are fewer.
-- Binds: resource_key_ids (JSON array, each once); first_version, last_version (inclusive); number (1 or more). Gives: change_version.
-- Plan: a range of IX_DocumentDeleteEvent_Resource for each of the resources, up to `number` entries; named as change_page.sql tells.
SET NOCOUNT ON;
DECLARE @resource_key_ids nvarchar(max) = :resource_key_ids, @first_version bigint = :first_version, @last_version bigint = :last_version,
        @number bigint = :number;
DECLARE @wanted TABLE (ResourceKeyId smallint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (ResourceKeyId) SELECT DISTINCT CAST(value AS smallint) FROM OPENJSON(@resource_key_ids);
SELECT event.ChangeVersion AS change_version
FROM @wanted AS wanted
CROSS APPLY (
    SELECT TOP (@number) ChangeVersion FROM dms.DocumentDeleteEvent WITH (INDEX (IX_DocumentDeleteEvent_Resource), FORCESEEK)
    WHERE ResourceKeyId = wanted.ResourceKeyId AND ChangeVersion BETWEEN @first_version AND @last_version
    ORDER BY ChangeVersion
) AS event
ORDER BY event.ChangeVersion
OFFSET @number - 1 ROWS FETCH NEXT 1 ROWS ONLY;

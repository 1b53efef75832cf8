-- sql/sqlserver/queries/read/plan_events_of.sql: the first document events of some resources in ranges of versions.
-- Binds: resource_key_ids (JSON array, each once); ranges (JSON array of {range, first, last}: a number, and versions, inclusive);
--   most_events (of a range); step (1 or more).
-- Gives: one row for so many events as `step` says, by range, then by version: their number, and the versions of the first and the last.
-- Plan: a range of an index (ResourceKeyId, ChangeVersion, DocumentId) for each of the ranges and resources. What it reads depends on the
--   binds, never on the window.
SET NOCOUNT ON;
DECLARE @resource_key_ids nvarchar(max) = :resource_key_ids, @ranges nvarchar(max) = :ranges, @most_events bigint = :most_events, @step bigint = :step;
DECLARE @wanted TABLE (ResourceKeyId smallint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (ResourceKeyId) SELECT DISTINCT CAST(value AS smallint) FROM OPENJSON(@resource_key_ids);
SELECT asked.range, MIN(event.ChangeVersion) AS first_version, MAX(event.ChangeVersion) AS last_version, COUNT_BIG(*) AS events
FROM OPENJSON(@ranges) WITH (range int '$.range', first bigint '$.first', last bigint '$.last') AS asked
CROSS APPLY (
    SELECT TOP (@most_events) own.ChangeVersion, ROW_NUMBER() OVER (ORDER BY own.ChangeVersion) AS number
    FROM @wanted AS listed
    CROSS APPLY (
        SELECT TOP (@most_events) ChangeVersion FROM dms.DocumentChangeEvent WITH (INDEX (IX_DocumentChangeEvent_Resource), FORCESEEK)
        WHERE ResourceKeyId = listed.ResourceKeyId AND ChangeVersion BETWEEN asked.first AND asked.last
        ORDER BY ChangeVersion, DocumentId
    ) AS own
    ORDER BY own.ChangeVersion
) AS event
GROUP BY asked.range, (event.number - 1) / @step
ORDER BY asked.range, MIN(event.ChangeVersion)
OPTION (LOOP JOIN, FORCE ORDER);

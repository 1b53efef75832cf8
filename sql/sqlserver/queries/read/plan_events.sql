-- sql/sqlserver/queries/read/plan_events.sql: the first document events in ranges of versions.
-- Binds: ranges (JSON array of {range, first, last}: a number, and versions, inclusive); most_events (of a range);
--   step (1 or more).
-- Gives: one row for so many events as `step` says, by range, then by version: their number, and the versions of the first and the last.
-- Plan: a range of the key (ChangeVersion, DocumentId) for each of the ranges. What it reads depends on the binds, never on the window.
SET NOCOUNT ON;
DECLARE @ranges nvarchar(max) = :ranges, @most_events bigint = :most_events, @step bigint = :step;
SELECT asked.range, MIN(event.ChangeVersion) AS first_version, MAX(event.ChangeVersion) AS last_version, COUNT_BIG(*) AS events
FROM OPENJSON(@ranges) WITH (range int '$.range', first bigint '$.first', last bigint '$.last') AS asked
CROSS APPLY (
    SELECT TOP (@most_events) ChangeVersion, ROW_NUMBER() OVER (ORDER BY ChangeVersion, DocumentId) AS number FROM dms.DocumentChangeEvent WITH (INDEX (PK_DocumentChangeEvent), FORCESEEK)
    WHERE ChangeVersion BETWEEN asked.first AND asked.last
    ORDER BY ChangeVersion, DocumentId
) AS event
GROUP BY asked.range, (event.number - 1) / @step
ORDER BY asked.range, MIN(event.ChangeVersion)
OPTION (LOOP JOIN, FORCE ORDER);

-- sql/postgres/queries/read/plan_events.sql: the first document events in ranges of versions.
-- Binds: ranges (JSON array of {range, first, last}: a number, and versions, inclusive); most_events (of a range);
--   step (1 or more).
-- Gives: one row for so many events as `step` says, by range, then by version: their number, and the versions of the first and the last.
-- Plan: a range of the key (ChangeVersion, DocumentId) for each of the ranges. What it reads depends on the binds, never on the window.
SELECT asked.range, min(event.ChangeVersion) AS first_version, max(event.ChangeVersion) AS last_version, count(*) AS events
FROM jsonb_to_recordset(CAST(:ranges AS jsonb)) AS asked (range integer, first bigint, last bigint)
CROSS JOIN LATERAL (
    SELECT ChangeVersion, row_number() OVER (ORDER BY ChangeVersion, DocumentId) AS number FROM dms.DocumentChangeEvent
    WHERE ChangeVersion BETWEEN asked.first AND asked.last
    ORDER BY ChangeVersion, DocumentId
    LIMIT CAST(:most_events AS bigint)
) AS event
GROUP BY asked.range, (event.number - 1) / CAST(:step AS bigint)
ORDER BY asked.range, first_version

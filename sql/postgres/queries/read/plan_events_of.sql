-- sql/postgres/queries/read/plan_events_of.sql: the first document events of some resources in ranges of versions.
-- Binds: resource_key_ids (JSON array, each once); ranges (JSON array of {range, first, last}: a number, and versions, inclusive);
--   most_events (of a range); step (1 or more).
-- Gives: one row for so many events as `step` says, by range, then by version: their number, and the versions of the first and the last.
-- Plan: a range of an index (ResourceKeyId, ChangeVersion, DocumentId) for each of the ranges and resources. What it reads depends on the
--   binds, never on the window. The form is change_page.sql's.
WITH wanted AS MATERIALIZED (
    SELECT CAST(value AS smallint) AS ResourceKeyId FROM jsonb_array_elements_text(CAST(:resource_key_ids AS jsonb))
)
SELECT asked.range, min(event.ChangeVersion) AS first_version, max(event.ChangeVersion) AS last_version, count(*) AS events
FROM jsonb_to_recordset(CAST(:ranges AS jsonb)) AS asked (range integer, first bigint, last bigint)
CROSS JOIN LATERAL (
    SELECT own.ChangeVersion, row_number() OVER (ORDER BY own.ChangeVersion) AS number
    FROM wanted
    CROSS JOIN LATERAL (
        SELECT ChangeVersion FROM dms.DocumentChangeEvent
        WHERE ResourceKeyId = ANY (ARRAY[wanted.ResourceKeyId]) AND ChangeVersion BETWEEN asked.first AND asked.last
        ORDER BY ResourceKeyId, ChangeVersion, DocumentId
        LIMIT CAST(:most_events AS bigint)
    ) AS own
    ORDER BY own.ChangeVersion
    LIMIT CAST(:most_events AS bigint)
) AS event
GROUP BY asked.range, (event.number - 1) / CAST(:step AS bigint)
ORDER BY asked.range, first_version

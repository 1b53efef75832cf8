-- sql/postgres/queries/spark/plan_key_changes.sql: the ends of equal parts of a window's key change events, by ChangeVersion.
-- Binds: resource_key_ids (JSON array, each once); min_version, max_version (inclusive); rows_per_part (1 or more, about); most_parts (1 or more).
-- Gives: one row a part, in order: the ChangeVersion of its last row as `last`, and its rows. None where there are no rows.
-- Plan: a range of IX_KeyChangeEvent_Resource for each resource; what it reads are index entries, as many as the rows that will be read.
WITH wanted AS MATERIALIZED (
    SELECT CAST(value AS smallint) AS ResourceKeyId FROM jsonb_array_elements_text(CAST(:resource_key_ids AS jsonb))
),
listed AS NOT MATERIALIZED (
    SELECT ChangeVersion AS position FROM dms.KeyChangeEvent
    WHERE ResourceKeyId IN (SELECT ResourceKeyId FROM wanted)
      AND ChangeVersion BETWEEN CAST(:min_version AS bigint) AND CAST(:max_version AS bigint)
),
counted AS MATERIALIZED (
    SELECT count(*) AS rows, greatest(1, least(count(*) / CAST(:rows_per_part AS bigint), CAST(:most_parts AS bigint))) AS parts FROM listed
)
SELECT position AS last, number - coalesce(lag(number) OVER (ORDER BY number), 0) AS rows
FROM (SELECT position, row_number() OVER (ORDER BY position) AS number FROM listed) AS numbered
CROSS JOIN counted
WHERE number * parts / counted.rows > (number - 1) * parts / counted.rows  -- a part's last row
ORDER BY number

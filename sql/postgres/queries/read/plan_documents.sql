-- sql/postgres/queries/read/plan_documents.sql: the ends of equal parts of resources' live documents in a range of ids, by DocumentId.
-- Binds: resource_key_ids (JSON array, each once); from_id, through_id (inclusive); rows_per_part (1 or more, about); most_parts (1 or more).
-- Gives: one row a part, in order: the DocumentId of its last row as `last`, and its rows. None where there are no rows.
-- Plan: IX_Document_ResourceKeyId; what it reads are index entries, as many as the rows that will be read.
WITH wanted AS MATERIALIZED (
    SELECT CAST(value AS smallint) AS ResourceKeyId FROM jsonb_array_elements_text(CAST(:resource_key_ids AS jsonb))
),
listed AS NOT MATERIALIZED (
    SELECT DocumentId AS position FROM dms.Document
    WHERE ResourceKeyId IN (SELECT ResourceKeyId FROM wanted)
      AND DocumentId BETWEEN CAST(:from_id AS bigint) AND CAST(:through_id AS bigint)
),
counted AS MATERIALIZED (
    SELECT count(*) AS rows, greatest(1, least(count(*) / CAST(:rows_per_part AS bigint), CAST(:most_parts AS bigint))) AS parts FROM listed
)
SELECT position AS last, number - coalesce(lag(number) OVER (ORDER BY number), 0) AS rows
FROM (SELECT position, row_number() OVER (ORDER BY position) AS number FROM listed) AS numbered
CROSS JOIN counted
WHERE number * parts / counted.rows > (number - 1) * parts / counted.rows  -- a part's last row
ORDER BY number

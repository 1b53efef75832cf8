-- sql/postgres/queries/read/plan_identities.sql: the first identity events in ranges of versions, with the parents that they move.
-- Binds: ranges (JSON array of {range, first, last}: a number, and versions, inclusive); most_events (of a range); most_parents (of an
--   event, to count to).
-- Gives: one row an event, by range, then by version; its weight is 1 and, where no later identity event of the document has overtaken it,
--   its parents.
-- Plan: a range of the key (ChangeVersion, DocumentId) for each of the ranges, and for an event one of IX_ReferenceEdge_Child. What it
--   reads depends on the binds, never on the window.
SELECT asked.range, event.ChangeVersion AS change_version,
       1 + (SELECT count(*)
            FROM (SELECT FROM dms.Document AS child
                  JOIN dms.ReferenceEdge AS edge ON edge.ChildDocumentId = child.DocumentId
                  WHERE child.DocumentId = event.DocumentId AND child.IdentityVersion = event.ChangeVersion
                  LIMIT CAST(:most_parents AS bigint)) AS parents) AS weight
FROM jsonb_to_recordset(CAST(:ranges AS jsonb)) AS asked (range integer, first bigint, last bigint)
CROSS JOIN LATERAL (
    SELECT ChangeVersion, DocumentId FROM dms.IdentityChangeEvent
    WHERE ChangeVersion BETWEEN asked.first AND asked.last
    ORDER BY ChangeVersion, DocumentId
    LIMIT CAST(:most_events AS bigint)
) AS event
ORDER BY asked.range, event.ChangeVersion

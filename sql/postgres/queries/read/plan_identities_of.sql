-- sql/postgres/queries/read/plan_identities_of.sql: the first identity events that can move documents of some resources, in ranges of versions.
-- Binds: resource_key_ids (JSON array, each once); ranges (JSON array of {range, first, last}: a number, and versions, inclusive);
--   most_events (of a range); most_parents (of an event, to count to).
-- Gives: one row an event, by range, then by version; its weight is 1 and, where no later identity event of the document has overtaken it,
--   its parents of those resources.
-- Plan: a range of an index (ResourceKeyId, ChangeVersion, DocumentId) for each of the ranges and resources, and for an event one of
--   IX_ReferenceEdge_Child. What it reads depends on the binds, never on the window. The form is change_page.sql's.
WITH wanted AS MATERIALIZED (
    SELECT CAST(value AS smallint) AS ResourceKeyId FROM jsonb_array_elements_text(CAST(:resource_key_ids AS jsonb))
),
referenced AS MATERIALIZED (  -- where they are more than 64, the events of all resources are looked at, as change_page.sql does
    SELECT DISTINCT dependency.ChildResourceKeyId AS ResourceKeyId
    FROM wanted JOIN dms.ResourceDependency AS dependency ON dependency.ParentResourceKeyId = wanted.ResourceKeyId
)
SELECT asked.range, event.ChangeVersion AS change_version,
       1 + (SELECT count(*)
            FROM (SELECT FROM dms.Document AS child
                  CROSS JOIN wanted
                  JOIN dms.ReferenceEdge AS edge ON edge.ChildDocumentId = child.DocumentId AND edge.ParentResourceKeyId = wanted.ResourceKeyId
                  WHERE child.DocumentId = event.DocumentId AND child.IdentityVersion = event.ChangeVersion
                  LIMIT CAST(:most_parents AS bigint)) AS parents) AS weight
FROM jsonb_to_recordset(CAST(:ranges AS jsonb)) AS asked (range integer, first bigint, last bigint)
CROSS JOIN LATERAL (
    SELECT identity.ChangeVersion, identity.DocumentId
    FROM referenced
    CROSS JOIN LATERAL (
        SELECT ChangeVersion, DocumentId FROM dms.IdentityChangeEvent
        WHERE ResourceKeyId = ANY (ARRAY[referenced.ResourceKeyId]) AND ChangeVersion BETWEEN asked.first AND asked.last
        ORDER BY ResourceKeyId, ChangeVersion, DocumentId
        LIMIT CAST(:most_events AS bigint)
    ) AS identity
    WHERE (SELECT count(*) FROM referenced) <= 64
    UNION ALL
    (SELECT ChangeVersion, DocumentId FROM dms.IdentityChangeEvent
     WHERE (SELECT count(*) FROM referenced) > 64 AND ChangeVersion BETWEEN asked.first AND asked.last
     ORDER BY ChangeVersion, DocumentId
     LIMIT CAST(:most_events AS bigint))
    ORDER BY ChangeVersion
    LIMIT CAST(:most_events AS bigint)
) AS event
ORDER BY asked.range, event.ChangeVersion

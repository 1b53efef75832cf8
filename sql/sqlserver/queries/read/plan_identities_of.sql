-- sql/sqlserver/queries/read/plan_identities_of.sql: the first identity events that can move documents of some resources, in ranges of versions.
-- Binds: resource_key_ids (JSON array, each once); ranges (JSON array of {range, first, last}: a number, and versions, inclusive);
--   most_events (of a range); most_parents (of an event, to count to).
-- Gives: one row an event, by range, then by version; its weight is 1 and, where no later identity event of the document has overtaken it,
--   its parents of those resources.
-- Plan: a range of an index (ResourceKeyId, ChangeVersion, DocumentId) for each of the ranges and resources, and for an event one of
--   IX_ReferenceEdge_Child. What it reads depends on the binds, never on the window.
SET NOCOUNT ON;
DECLARE @resource_key_ids nvarchar(max) = :resource_key_ids, @ranges nvarchar(max) = :ranges, @most_events bigint = :most_events, @most_parents bigint = :most_parents;
DECLARE @wanted TABLE (ResourceKeyId smallint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (ResourceKeyId) SELECT DISTINCT CAST(value AS smallint) FROM OPENJSON(@resource_key_ids);
DECLARE @referenced TABLE (ResourceKeyId smallint NOT NULL PRIMARY KEY);
INSERT INTO @referenced (ResourceKeyId)
SELECT DISTINCT dependency.ChildResourceKeyId
FROM @wanted AS wanted INNER JOIN dms.ResourceDependency AS dependency ON dependency.ParentResourceKeyId = wanted.ResourceKeyId;
DECLARE @resources bigint = 0;
SELECT @resources = COUNT(*) FROM @referenced;  -- more than 64: the events of all resources are looked at, as change_page.sql does
SELECT asked.range, event.ChangeVersion AS change_version,
       1 + (SELECT COUNT_BIG(*)
            FROM (SELECT TOP (@most_parents) edge.ParentDocumentId
                  FROM dms.Document AS child
                  CROSS JOIN @wanted AS wanted
                  INNER JOIN dms.ReferenceEdge AS edge ON edge.ChildDocumentId = child.DocumentId AND edge.ParentResourceKeyId = wanted.ResourceKeyId
                  WHERE child.DocumentId = event.DocumentId AND child.IdentityVersion = event.ChangeVersion) AS parents) AS weight
FROM OPENJSON(@ranges) WITH (range int '$.range', first bigint '$.first', last bigint '$.last') AS asked
CROSS APPLY (
    SELECT TOP (@most_events) either.ChangeVersion, either.DocumentId
    FROM (
        SELECT identity_event.ChangeVersion, identity_event.DocumentId
        FROM @referenced AS listed
        CROSS APPLY (
            SELECT TOP (@most_events) ChangeVersion, DocumentId
            FROM dms.IdentityChangeEvent WITH (INDEX (IX_IdentityChangeEvent_Resource), FORCESEEK)
            WHERE ResourceKeyId = listed.ResourceKeyId AND ChangeVersion BETWEEN asked.first AND asked.last
            ORDER BY ChangeVersion, DocumentId
        ) AS identity_event
        WHERE @resources <= 64
        UNION ALL
        SELECT every_event.ChangeVersion, every_event.DocumentId
        FROM (
            SELECT TOP (@most_events) ChangeVersion, DocumentId
            FROM dms.IdentityChangeEvent WITH (INDEX (PK_IdentityChangeEvent), FORCESEEK)
            WHERE @resources > 64 AND ChangeVersion BETWEEN asked.first AND asked.last
            ORDER BY ChangeVersion, DocumentId
        ) AS every_event
    ) AS either
    ORDER BY either.ChangeVersion
) AS event
ORDER BY asked.range, event.ChangeVersion
OPTION (LOOP JOIN, FORCE ORDER);

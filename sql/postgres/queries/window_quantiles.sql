-- sql/postgres/queries/window_quantiles.sql: the last version of each of the equal parts that a window's events make, rising.
-- Binds: resource_key_id; min_version, max_version (inclusive); partitions (1 or more). Fewer events than that: fewer rows.
-- Plan:  ranges of the journals' indexes (ResourceKeyId, ChangeVersion, DocumentId), index-only, or all of a journal where the
--   window is most of it; one sort of the versions.
-- Counted are the resource's own events and the identity events that can move its documents: what dms.ResourceChange looks at.
SELECT DISTINCT max(ChangeVersion) AS last_version
FROM (
    SELECT ChangeVersion, ntile(CAST(:partitions AS integer)) OVER (ORDER BY ChangeVersion) AS part
    FROM (
        SELECT ChangeVersion FROM dms.DocumentChangeEvent
        WHERE ResourceKeyId = CAST(:resource_key_id AS smallint)
          AND ChangeVersion BETWEEN CAST(:min_version AS bigint) AND CAST(:max_version AS bigint)
        UNION ALL
        SELECT event.ChangeVersion
        FROM dms.ResourceDependency AS dependency
        JOIN dms.IdentityChangeEvent AS event ON event.ResourceKeyId = dependency.ChildResourceKeyId
        WHERE dependency.ParentResourceKeyId = CAST(:resource_key_id AS smallint)
          AND event.ChangeVersion BETWEEN CAST(:min_version AS bigint) AND CAST(:max_version AS bigint)
    ) AS events
) AS parts
GROUP BY part
ORDER BY last_version  -- DISTINCT: an own and an identity event can share a stamp, and ntile can part them

-- sql/sqlserver/queries/window_quantiles.sql: the last version of each of the equal parts that a window's events make, rising.
-- Binds: resource_key_id; min_version, max_version (inclusive); partitions (1 or more). Fewer events than that: fewer rows.
-- Plan: ranges of the journals' indexes (ResourceKeyId, ChangeVersion, DocumentId); one sort of the versions.
-- Counted are the resource's own events and the identity events that can move its documents: what dms.ResourceChange looks at.
DECLARE @resource_key_id smallint = :resource_key_id, @min_version bigint = :min_version, @max_version bigint = :max_version,
        @partitions bigint = :partitions;
SELECT DISTINCT MAX(parts.ChangeVersion) AS last_version
FROM (
    SELECT events.ChangeVersion, NTILE(@partitions) OVER (ORDER BY events.ChangeVersion) AS part
    FROM (
        SELECT ChangeVersion FROM dms.DocumentChangeEvent
        WHERE ResourceKeyId = @resource_key_id AND ChangeVersion BETWEEN @min_version AND @max_version
        UNION ALL
        SELECT event.ChangeVersion
        FROM dms.ResourceDependency AS dependency
        INNER JOIN dms.IdentityChangeEvent AS event ON event.ResourceKeyId = dependency.ChildResourceKeyId
        WHERE dependency.ParentResourceKeyId = @resource_key_id AND event.ChangeVersion BETWEEN @min_version AND @max_version
    ) AS events
) AS parts
GROUP BY parts.part
ORDER BY last_version;  -- DISTINCT: an own and an identity event can share a stamp, and NTILE can part them

-- sql/postgres/queries/read/first_at.sql: the first event from a version on whose time is not before another time, in version order.
-- Binds: from_version (inclusive); max_version (inclusive, at most a horizon that was read before); at (ISO 8601 in UTC, without a zone); null:
--   the first event of all. Gives: one row; change_version and created_at, null where there is none.
-- Plan: the journals' primary keys from from_version to the event that is found.
SELECT first.ChangeVersion AS change_version, first.CreatedAt AS created_at
FROM (SELECT) AS one
LEFT JOIN LATERAL (
    (SELECT ChangeVersion, CreatedAt FROM dms.DocumentChangeEvent
     WHERE ChangeVersion >= CAST(:from_version AS bigint) AND ChangeVersion <= CAST(:max_version AS bigint)
       AND (CAST(:at AS timestamp) IS NULL OR CreatedAt >= CAST(:at AS timestamp) AT TIME ZONE 'UTC')
     ORDER BY ChangeVersion LIMIT 1)
    UNION ALL
    (SELECT ChangeVersion, CreatedAt FROM dms.DocumentDeleteEvent
     WHERE ChangeVersion >= CAST(:from_version AS bigint) AND ChangeVersion <= CAST(:max_version AS bigint)
       AND (CAST(:at AS timestamp) IS NULL OR CreatedAt >= CAST(:at AS timestamp) AT TIME ZONE 'UTC')
     ORDER BY ChangeVersion LIMIT 1)
    ORDER BY ChangeVersion LIMIT 1
) AS first ON true

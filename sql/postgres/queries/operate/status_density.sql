-- sql/postgres/queries/operate/status_density.sql: how many rows each journal has at the beginning of each range of versions.
-- Binds: ranges (JSON array of objects: ordinal; low, high, versions, inclusive); most (rows to count in a range, 1 or more).
-- Gives: ordinal; journal; counted, at most `most`; last_version, of the rows that were counted. A range without rows has no row.
-- Plan:  a range of a primary key, at most `most` entries, for each range and journal; run it after begin_page.
SELECT wanted.ordinal, journal.name AS journal, count(*) AS counted, max(journal.ChangeVersion) AS last_version
FROM jsonb_to_recordset(CAST(:ranges AS jsonb)) AS wanted (ordinal integer, low bigint, high bigint)
CROSS JOIN LATERAL (
    (SELECT 'DocumentChangeEvent' AS name, ChangeVersion FROM dms.DocumentChangeEvent
     WHERE ChangeVersion BETWEEN wanted.low AND wanted.high ORDER BY ChangeVersion LIMIT CAST(:most AS bigint))
    UNION ALL
    (SELECT 'IdentityChangeEvent', ChangeVersion FROM dms.IdentityChangeEvent
     WHERE ChangeVersion BETWEEN wanted.low AND wanted.high ORDER BY ChangeVersion LIMIT CAST(:most AS bigint))
    UNION ALL
    (SELECT 'DocumentDeleteEvent', ChangeVersion FROM dms.DocumentDeleteEvent
     WHERE ChangeVersion BETWEEN wanted.low AND wanted.high ORDER BY ChangeVersion LIMIT CAST(:most AS bigint))
    UNION ALL
    (SELECT 'KeyChangeEvent', ChangeVersion FROM dms.KeyChangeEvent
     WHERE ChangeVersion BETWEEN wanted.low AND wanted.high ORDER BY ChangeVersion LIMIT CAST(:most AS bigint))
) AS journal
GROUP BY wanted.ordinal, journal.name
ORDER BY wanted.ordinal, journal.name

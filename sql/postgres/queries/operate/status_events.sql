-- sql/postgres/queries/operate/status_events.sql: for each of the versions asked for, the first event of a document at or above it, and its time.
-- Binds: versions (JSON array, each once). A version with no event at or above it has no row.
-- Plan:  two lookups a version, each the first entry of a range of a primary key; run it after begin_page.
SELECT CAST(wanted.version AS bigint) AS version, first_event.ChangeVersion AS change_version, first_event.CreatedAt AS created_at
FROM jsonb_array_elements_text(CAST(:versions AS jsonb)) AS wanted (version)
CROSS JOIN LATERAL (
    SELECT ChangeVersion, CreatedAt
    FROM ((SELECT ChangeVersion, CreatedAt FROM dms.DocumentChangeEvent
           WHERE ChangeVersion >= CAST(wanted.version AS bigint) ORDER BY ChangeVersion LIMIT 1)
          UNION ALL
          (SELECT ChangeVersion, CreatedAt FROM dms.DocumentDeleteEvent
           WHERE ChangeVersion >= CAST(wanted.version AS bigint) ORDER BY ChangeVersion LIMIT 1)) AS candidates
    ORDER BY ChangeVersion
    LIMIT 1) AS first_event
ORDER BY version

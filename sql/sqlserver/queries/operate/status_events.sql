-- sql/sqlserver/queries/operate/status_events.sql: for each of the versions asked for, the first event of a document at or above it, and its time.
-- Binds: versions (JSON array, each once). A version with no event at or above it has no row.
-- Plan: two lookups a version, each the first entry of a range of a primary key.
-- READUNCOMMITTED: at or below the horizon everything is committed; above it, a status must not wait for the writer that it shows.
SET NOCOUNT ON;
DECLARE @versions nvarchar(max) = :versions;
DECLARE @wanted TABLE (Version bigint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (Version) SELECT DISTINCT CAST(value AS bigint) FROM OPENJSON(@versions);
SELECT wanted.Version AS version, first_event.ChangeVersion AS change_version, first_event.CreatedAt AS created_at
FROM @wanted AS wanted
CROSS APPLY (
    SELECT TOP (1) candidates.ChangeVersion, candidates.CreatedAt
    FROM (
        SELECT changed.ChangeVersion, changed.CreatedAt
        FROM (SELECT TOP (1) ChangeVersion, CreatedAt FROM dms.DocumentChangeEvent WITH (READUNCOMMITTED)
              WHERE ChangeVersion >= wanted.Version ORDER BY ChangeVersion) AS changed
        UNION ALL
        SELECT deleted_event.ChangeVersion, deleted_event.CreatedAt
        FROM (SELECT TOP (1) ChangeVersion, CreatedAt FROM dms.DocumentDeleteEvent WITH (READUNCOMMITTED)
              WHERE ChangeVersion >= wanted.Version ORDER BY ChangeVersion) AS deleted_event
    ) AS candidates
    ORDER BY candidates.ChangeVersion) AS first_event
ORDER BY wanted.Version
OPTION (LOOP JOIN);

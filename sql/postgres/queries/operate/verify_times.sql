-- sql/postgres/queries/operate/verify_times.sql: the events of a batch that have a time that no program can read: infinite, or outside of the years 1 to 9999.
-- Binds: after (exclusive), last (inclusive): ChangeVersions. Gives: code, version. Plan: a range of PK_DocumentChangeEvent.
SELECT 'time-unreadable' AS code, ChangeVersion AS version
FROM dms.DocumentChangeEvent
WHERE ChangeVersion > CAST(:after AS bigint) AND ChangeVersion <= CAST(:last AS bigint)
  AND NOT (CreatedAt > '0001-01-02 UTC' AND CreatedAt < '9999-12-31 UTC')
ORDER BY ChangeVersion

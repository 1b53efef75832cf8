-- sql/sqlserver/queries/operate/verify_times.sql: the events of a batch that have a time that no program can read: a datetime2 is none.
-- Binds: after, last: ChangeVersions. Gives: code, version; no row.
SELECT 'time-unreadable' AS code, CAST(:after AS bigint) + CAST(:last AS bigint) AS version WHERE 1 = 0;

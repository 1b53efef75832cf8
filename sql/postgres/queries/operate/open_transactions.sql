-- sql/postgres/queries/operate/open_transactions.sql: the transactions of the database that are open, but for this one; any of them may have a snapshot.
-- Gives: reader, for dms.is_read_yet: a virtual transaction; or before and a transaction id, which snapshots of now on are not older than, once
-- who writes now has ended. An autovacuum reads no journal as one of ours does.
SELECT held.virtualxid AS reader
FROM pg_locks AS held JOIN pg_stat_activity AS activity USING (pid)
WHERE held.locktype = 'virtualxid' AND held.granted AND held.pid <> pg_backend_pid()
  AND activity.datname = current_database() AND activity.usesysid IS NOT NULL
UNION ALL
SELECT 'before ' || pg_snapshot_xmax(pg_current_snapshot())

-- sql/postgres/queries/operate/hold_lease.sql: renews, takes or gives back a lease; see functions/hold_lease.v1.sql. Binds: name; token (uuid);
-- process (printable ASCII); seconds (0: give it back); taking. Gives: is_ours, is_busy, holder, expires_at, ends_in (seconds).
SELECT is_ours, is_busy, holder, expires_at, ends_in
FROM dms.hold_lease(CAST(:name AS text), CAST(:token AS uuid), CAST(:process AS text), CAST(:seconds AS integer), CAST(:taking AS boolean))

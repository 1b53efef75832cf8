-- benchmarks/sql/option/footprint.sql: what the session's open transaction holds. Binds: stamp, of the rename.
-- Gives: rows_raised, each locked until the transaction ends; lock_entries of the server's lock table; wal_bytes so far, of the server.
SELECT (SELECT count(*) FROM dms.Document WHERE MaxDepIdentityVersion = :stamp) AS rows_raised,
       (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()) AS lock_entries,
       pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS wal_bytes

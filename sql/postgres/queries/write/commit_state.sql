-- sql/postgres/queries/write/commit_state.sql: what became of a transaction whose COMMIT was not answered.
-- Binds: mark (commit_mark).
-- Gives: state: committed, aborted or in progress; null where the server cannot tell: another one took over, or it is too long ago.
SELECT CASE WHEN split_part(CAST(:mark AS text), ' ', 2) = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
            THEN pg_xact_status(CAST(split_part(CAST(:mark AS text), ' ', 1) AS xid8)) END AS state

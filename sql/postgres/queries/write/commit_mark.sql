-- sql/postgres/queries/write/commit_mark.sql: what a transaction is known by afterwards, last of all in it: commit_state asks for it.
-- Gives: mark: its id and the server's timeline; empty where it has written nothing.
SELECT coalesce(pg_current_xact_id_if_assigned()::text || ' ' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), '') AS mark

-- sql/postgres/queries/horizon.sql: the horizon; in a statement of its own, before the one that reads (invariant 5).
-- Gives: horizon; history, which differs after a restart, and in another database or installation.
SELECT dms.horizon() AS horizon,
       concat_ws(' ', pg_postmaster_start_time(), to_regclass('dms.changeversionsequence')::oid, current_database()) AS history

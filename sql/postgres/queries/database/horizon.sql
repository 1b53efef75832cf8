-- sql/postgres/queries/database/horizon.sql: the horizon; in a statement of its own, before the one that reads (invariant 5).
-- Gives: horizon; history, which differs after a restart, and in another database or installation; has_parts, whether a part of a journal can
--   be taken away (option partitions).
SELECT dms.horizon() AS horizon,
       concat_ws(' ', pg_postmaster_start_time(), to_regclass('dms.changeversionsequence')::oid, current_database()) AS history,
       to_regclass('dms.knownpartition') IS NOT NULL AS has_parts

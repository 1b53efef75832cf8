-- sql/postgres/queries/database/begin_page.sql: the horizon, and settings for the statement that reads a page after it in the same transaction.
-- With statistics older than the window, the planner expects few rows in it, and would rather collect and sort all of them (a bitmap
-- scan) than follow the index to the page's end; a plan for any page size expects many in all of it. What the page reads is lookups
-- and short ranges, for which nothing needs compiling.
-- Gives: horizon, history and has_parts, as horizon.sql does.
SELECT dms.horizon() AS horizon,
       concat_ws(' ', pg_postmaster_start_time(), to_regclass('dms.changeversionsequence')::oid, current_database()) AS history,
       to_regclass('dms.knownpartition') IS NOT NULL AS has_parts,
       set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true),
       set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)

-- sql/postgres/queries/prune_begin.sql: begins a batch: no consumer is registered or put back until it ends, so that whoever is there
-- afterwards was heeded, or sees the floor. And settings that leave the batch the plan that it must get.
SELECT pg_advisory_xact_lock(1146768493, 1),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)

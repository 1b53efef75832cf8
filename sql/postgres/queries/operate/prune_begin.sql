-- sql/postgres/queries/operate/prune_begin.sql: begins a batch: no consumer is registered or moved until it ends, so that each consumer that is
-- there afterwards was heeded, or sees the floor. And settings that leave the batch the plan that it must get.
-- register_consumer and move_consumer share a lock on the same row. A role that may not prune cannot take either by itself.
WITH held AS MATERIALIZED (SELECT Journal FROM dms.JournalFloor WHERE Journal = 'DocumentChangeEvent' FOR UPDATE)
SELECT (SELECT count(*) FROM held),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)

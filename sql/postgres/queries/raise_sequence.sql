-- sql/postgres/queries/raise_sequence.sql: the sequence above whatever the journals hold. Runs after repair_sequence, in its transaction.
-- Binds: version (the newest that was given).
SELECT setval('dms.ChangeVersionSequence', CAST(:version AS bigint))
WHERE coalesce(pg_sequence_last_value('dms.changeversionsequence'), 0) < CAST(:version AS bigint)

-- sql/postgres/queries/operate/raise_sequence.sql: the sequence above whatever the journals hold. Runs after repair_sequence, in its transaction.
-- Binds: version (the newest that was given).
SELECT setval('dms.ChangeVersionSequence', CAST(:version AS bigint))
WHERE (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence) < CAST(:version AS bigint)

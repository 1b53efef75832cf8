-- sql/postgres/queries/operate/move_tombstones.sql: tombstones get new stamps, above whatever they must be above. Runs after enter_change.
-- Binds: rows (JSON array of {version}).
UPDATE dms.DocumentDeleteEvent AS t SET ChangeVersion = nextval('dms.ChangeVersionSequence')
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (version bigint)
WHERE t.ChangeVersion = wanted.version

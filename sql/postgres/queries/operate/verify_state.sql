-- sql/postgres/queries/operate/verify_state.sql: the sequence, and what must lie below it.
-- Gives: source (sequence, a journal's name, or consumer and its name), lowest, newest, newest_at, floor, pruned_at; null where there is
-- none. One snapshot; the sequence, which has none, is read after it was taken, so it is above whatever the snapshot shows.
-- Plan:  both ends of each journal's primary key.
SELECT 'sequence' AS source, CAST(NULL AS bigint) AS lowest, (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence) AS newest,
       CAST(NULL AS timestamptz) AS newest_at, CAST(NULL AS bigint) AS floor, CAST(NULL AS timestamptz) AS pruned_at
UNION ALL
SELECT journal.name, journal.lowest, journal.newest, journal.newest_at, floor.ChangeVersion, floor.PrunedAt
FROM (
    SELECT 'DocumentChangeEvent' AS name, (SELECT min(ChangeVersion) FROM dms.DocumentChangeEvent) AS lowest,
           (SELECT max(ChangeVersion) FROM dms.DocumentChangeEvent) AS newest,
           (SELECT CreatedAt FROM dms.DocumentChangeEvent ORDER BY ChangeVersion DESC LIMIT 1) AS newest_at
    UNION ALL
    SELECT 'IdentityChangeEvent', (SELECT min(ChangeVersion) FROM dms.IdentityChangeEvent),
           (SELECT max(ChangeVersion) FROM dms.IdentityChangeEvent),
           (SELECT CreatedAt FROM dms.IdentityChangeEvent ORDER BY ChangeVersion DESC LIMIT 1)
    UNION ALL
    SELECT 'KeyChangeEvent', (SELECT min(ChangeVersion) FROM dms.KeyChangeEvent),
           (SELECT max(ChangeVersion) FROM dms.KeyChangeEvent),
           (SELECT CreatedAt FROM dms.KeyChangeEvent ORDER BY ChangeVersion DESC LIMIT 1)
    UNION ALL
    SELECT 'DocumentDeleteEvent', (SELECT min(ChangeVersion) FROM dms.DocumentDeleteEvent),
           (SELECT max(ChangeVersion) FROM dms.DocumentDeleteEvent),
           (SELECT CreatedAt FROM dms.DocumentDeleteEvent ORDER BY ChangeVersion DESC LIMIT 1)
) AS journal
LEFT JOIN dms.JournalFloor AS floor ON floor.Journal = journal.name
UNION ALL
SELECT 'consumer ' || Name, NULL, ChangeVersion, UpdatedAt, NULL, NULL FROM dms.ChangeConsumer

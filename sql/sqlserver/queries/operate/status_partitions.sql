-- sql/sqlserver/queries/operate/status_partitions.sql: option partitions: up to where each journal has parts with bounds, and whether events are above
-- that, in the last part. Gives: journal; last_bound (exclusive); overflows. Both are null for a user that may not see the bounds.
-- Plan: one lookup in the primary key for each journal.
SELECT floors.Journal AS journal, bounds.last_bound,
       CASE WHEN bounds.last_bound IS NULL THEN NULL
            WHEN floors.Journal = N'DocumentChangeEvent' AND EXISTS (SELECT 1 FROM dms.DocumentChangeEvent AS e WHERE e.ChangeVersion >= bounds.last_bound) THEN 1
            WHEN floors.Journal = N'IdentityChangeEvent' AND EXISTS (SELECT 1 FROM dms.IdentityChangeEvent AS e WHERE e.ChangeVersion >= bounds.last_bound) THEN 1
            WHEN floors.Journal = N'KeyChangeEvent' AND EXISTS (SELECT 1 FROM dms.KeyChangeEvent AS e WHERE e.ChangeVersion >= bounds.last_bound) THEN 1
            WHEN floors.Journal = N'DocumentDeleteEvent' AND EXISTS (SELECT 1 FROM dms.DocumentDeleteEvent AS e WHERE e.ChangeVersion >= bounds.last_bound) THEN 1
            ELSE 0 END AS overflows
FROM dms.JournalFloor AS floors
OUTER APPLY (SELECT MAX(part.HighVersion) AS last_bound FROM dms.JournalPartition AS part WHERE part.Journal = floors.Journal) AS bounds
ORDER BY floors.Journal;

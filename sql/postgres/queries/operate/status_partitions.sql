-- sql/postgres/queries/operate/status_partitions.sql: option partitions: up to where each journal has parts with bounds, and whether events are above
-- that, in the default part. Gives: journal; last_bound (exclusive; null: no part has one); overflows.
-- Plan: one lookup in the index of the default part for each journal; other parts are ruled out when it runs.
SELECT floors.Journal AS journal, bounds.last_bound,
       CASE floors.Journal
           WHEN 'DocumentChangeEvent' THEN EXISTS (SELECT FROM dms.DocumentChangeEvent AS e WHERE e.ChangeVersion >= bounds.first_above)
           WHEN 'IdentityChangeEvent' THEN EXISTS (SELECT FROM dms.IdentityChangeEvent AS e WHERE e.ChangeVersion >= bounds.first_above)
           WHEN 'KeyChangeEvent' THEN EXISTS (SELECT FROM dms.KeyChangeEvent AS e WHERE e.ChangeVersion >= bounds.first_above)
           ELSE EXISTS (SELECT FROM dms.DocumentDeleteEvent AS e WHERE e.ChangeVersion >= bounds.first_above) END AS overflows
FROM dms.JournalFloor AS floors
CROSS JOIN LATERAL (
    SELECT max(part.HighVersion) AS last_bound, coalesce(max(part.HighVersion), 0) AS first_above
    FROM dms.JournalPartition AS part WHERE part.Journal = floors.Journal
) AS bounds
ORDER BY floors.Journal

-- sql/postgres/queries/feed/insert_generation.sql: begins a generation of buckets at a stamp of its own. Runs after lock_generations and enter_change:
-- nobody has read up to the stamp, nor will before the row is there to be seen (invariant 5).
-- Binds: bucket_count (1 to 1024). Gives: generation, none where the newest one has as many buckets.
INSERT INTO dms.FeedGeneration (Generation, BucketCount, BeginsAfter, CreatedAt)
SELECT newest.Generation + 1, CAST(:bucket_count AS integer), nextval('dms.ChangeVersionSequence'), clock_timestamp()
FROM (SELECT Generation, BucketCount FROM dms.FeedGeneration ORDER BY Generation DESC LIMIT 1) AS newest
WHERE newest.BucketCount <> CAST(:bucket_count AS integer)
RETURNING Generation AS generation

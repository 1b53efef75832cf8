-- sql/sqlserver/queries/feed/insert_generation.sql: begins a generation of buckets at a stamp of its own. Runs after lock_generations and enter_change:
-- nobody has read up to the stamp, nor will before the row is there to be seen (invariant 5).
-- Binds: bucket_count (1 to 1024). Gives: generation, none where the newest one has as many buckets.
SET NOCOUNT ON;
DECLARE @bucket_count int = :bucket_count, @generation int, @newest_count int, @stamp bigint;
SELECT TOP (1) @generation = Generation + 1, @newest_count = BucketCount FROM dms.FeedGeneration ORDER BY Generation DESC;
IF @newest_count <> @bucket_count
BEGIN
    SET @stamp = NEXT VALUE FOR dms.ChangeVersionSequence;
    INSERT INTO dms.FeedGeneration (Generation, BucketCount, BeginsAfter, CreatedAt)
    VALUES (@generation, @bucket_count, @stamp, SYSUTCDATETIME());
END;
SELECT @generation AS generation WHERE @newest_count <> @bucket_count;

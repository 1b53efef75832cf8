-- sql/sqlserver/queries/feed/feed_state.sql: which database this is, and its generations of buckets, oldest first. Runs after the horizon was read.
-- Gives: database_uuid; generation, bucket_count, begins_after (exclusive), ends_at (inclusive, null: the newest); floor, the highest of the
--   journals that events are told by. A generation that was begun at or below the horizon is here: it was committed like any other stamp.
SELECT feed.DatabaseUuid AS database_uuid, generation.Generation AS generation, generation.BucketCount AS bucket_count,
       generation.BeginsAfter AS begins_after, LEAD(generation.BeginsAfter) OVER (ORDER BY generation.Generation) AS ends_at, floors.floor
FROM dms.FeedDatabase AS feed
CROSS JOIN dms.FeedGeneration AS generation
CROSS JOIN (SELECT MAX(ChangeVersion) AS floor FROM dms.JournalFloor
            WHERE Journal IN (N'DocumentChangeEvent', N'DocumentDeleteEvent', N'KeyChangeEvent') HAVING COUNT(*) = 3) AS floors
ORDER BY generation.Generation;

-- sql/sqlserver/queries/feed/lock_generations.sql: one generation of buckets at a time is begun, so that the later one has the later version. Readers of
-- pages wait for it where the database has no READ_COMMITTED_SNAPSHOT.
SELECT COUNT(*) AS generations FROM dms.FeedGeneration WITH (TABLOCKX, HOLDLOCK);

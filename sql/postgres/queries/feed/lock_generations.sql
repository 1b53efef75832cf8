-- sql/postgres/queries/feed/lock_generations.sql: one generation of buckets at a time is begun, so that the later one has the later version. Readers go on.
LOCK TABLE dms.FeedGeneration IN SHARE ROW EXCLUSIVE MODE

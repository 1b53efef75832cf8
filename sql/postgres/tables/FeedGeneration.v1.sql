-- sql/postgres/tables/FeedGeneration.v1.sql: into how many buckets the feed cuts the documents, from which version on. A generation holds for
-- the versions above BeginsAfter, up to the next one's BeginsAfter, that one included, where its buckets retire. Rows stay as they are.
CREATE TABLE dms.FeedGeneration (
    Generation  integer     NOT NULL CONSTRAINT PK_FeedGeneration PRIMARY KEY,
    BucketCount integer     NOT NULL CONSTRAINT CK_FeedGeneration_BucketCount CHECK (BucketCount BETWEEN 1 AND 1024),
    BeginsAfter bigint      NOT NULL CONSTRAINT UX_FeedGeneration_BeginsAfter UNIQUE,
    CreatedAt   timestamptz NOT NULL
);
INSERT INTO dms.FeedGeneration (Generation, BucketCount, BeginsAfter, CreatedAt) VALUES (1, 4, 0, clock_timestamp());
COMMENT ON TABLE dms.FeedGeneration IS 'dmsjournal: into how many buckets the feed cuts the documents, from which version on';
-- drop: DROP TABLE dms.FeedGeneration;

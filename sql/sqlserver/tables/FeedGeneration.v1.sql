-- sql/sqlserver/tables/FeedGeneration.v1.sql: into how many buckets the feed cuts the documents, from which version on. A generation holds for
-- the versions above BeginsAfter, up to the next one's BeginsAfter, that one included, where its buckets retire. Rows stay as they are.
CREATE TABLE dms.FeedGeneration (
    Generation  int          NOT NULL CONSTRAINT PK_FeedGeneration PRIMARY KEY,
    BucketCount int          NOT NULL CONSTRAINT CK_FeedGeneration_BucketCount CHECK (BucketCount BETWEEN 1 AND 1024),
    BeginsAfter bigint       NOT NULL CONSTRAINT UX_FeedGeneration_BeginsAfter UNIQUE,
    CreatedAt   datetime2(7) NOT NULL
);
INSERT INTO dms.FeedGeneration (Generation, BucketCount, BeginsAfter, CreatedAt) VALUES (1, 4, 0, SYSUTCDATETIME());
EXEC sys.sp_addextendedproperty N'dmsjournal', N'into how many buckets the feed cuts the documents, from which version on', N'SCHEMA', N'dms', N'TABLE', N'FeedGeneration';
-- drop: DROP TABLE dms.FeedGeneration;

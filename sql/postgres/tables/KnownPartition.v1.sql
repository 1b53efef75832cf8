-- sql/postgres/tables/KnownPartition.v1.sql: option partitions: the parts that the option has given to each journal, with the bounds that
-- JournalPartition shows. A part that is listed here and is no partition of its journal any more was detached or dropped by hand: readers refuse
-- the versions that it held (queries/database/missing_part.sql), until it is attached again or a repair raises the floor.
CREATE TABLE dms.KnownPartition (
    Journal     varchar(64) NOT NULL,
    Partition   varchar(63) NOT NULL,
    LowVersion  bigint      NULL,
    HighVersion bigint      NULL,
    CONSTRAINT PK_KnownPartition PRIMARY KEY (Journal, Partition)
);
CREATE UNIQUE INDEX UX_KnownPartition_HighVersion ON dms.KnownPartition (Journal, HighVersion) NULLS NOT DISTINCT;
GRANT SELECT ON dms.KnownPartition TO PUBLIC;  -- as of JournalPartition: no version of a document is in it
COMMENT ON TABLE dms.KnownPartition IS 'dmsjournal: the parts that each journal was given';
-- drop: DROP TABLE dms.KnownPartition;

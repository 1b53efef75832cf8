-- sql/postgres/tables/PartitionSettings.v1.sql: option partitions: what the last ensure was asked for, and when it ran, in one row; none before it ran.
CREATE TABLE dms.PartitionSettings (
    Id        smallint    NOT NULL DEFAULT 1 CONSTRAINT PK_PartitionSettings PRIMARY KEY CONSTRAINT CK_PartitionSettings_Id CHECK (Id = 1),
    Versions  bigint      NOT NULL CONSTRAINT CK_PartitionSettings_Versions CHECK (Versions >= 1),
    Ahead     integer     NOT NULL CONSTRAINT CK_PartitionSettings_Ahead CHECK (Ahead >= 1),
    EnsuredAt timestamptz NOT NULL
);
GRANT SELECT ON dms.PartitionSettings TO PUBLIC;  -- for status, as the view JournalPartition
COMMENT ON TABLE dms.PartitionSettings IS 'dmsjournal: what parts the journals are to have';
-- drop: DROP TABLE dms.PartitionSettings;

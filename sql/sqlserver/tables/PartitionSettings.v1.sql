-- sql/sqlserver/tables/PartitionSettings.v1.sql: option partitions: what the last ensure was asked for, and when it ran, in one row; none before it ran.
CREATE TABLE dms.PartitionSettings (
    Id        smallint     NOT NULL CONSTRAINT DF_PartitionSettings_Id DEFAULT 1 CONSTRAINT PK_PartitionSettings PRIMARY KEY
              CONSTRAINT CK_PartitionSettings_Id CHECK (Id = 1),
    Versions  bigint       NOT NULL CONSTRAINT CK_PartitionSettings_Versions CHECK (Versions >= 1),
    Ahead     int          NOT NULL CONSTRAINT CK_PartitionSettings_Ahead CHECK (Ahead >= 1),
    EnsuredAt datetime2(7) NOT NULL
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'what parts the journals are to have', N'SCHEMA', N'dms', N'TABLE', N'PartitionSettings';
-- drop: DROP TABLE dms.PartitionSettings;

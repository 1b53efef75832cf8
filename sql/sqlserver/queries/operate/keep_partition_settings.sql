-- sql/sqlserver/queries/operate/keep_partition_settings.sql: option partitions: notes what an ensure was asked for, and that it is done.
-- Binds: versions (of a part, 1 or more); ahead (parts, 1 or more).
SET NOCOUNT ON;
DECLARE @versions bigint = :versions, @ahead int = :ahead;
UPDATE dms.PartitionSettings SET Versions = @versions, Ahead = @ahead, EnsuredAt = SYSUTCDATETIME();
IF @@ROWCOUNT = 0
    INSERT INTO dms.PartitionSettings (Versions, Ahead, EnsuredAt) VALUES (@versions, @ahead, SYSUTCDATETIME());

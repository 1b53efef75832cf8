-- sql/sqlserver/queries/operate/partition_settings.sql: option partitions: what the last ensure was asked for; no row before one ran.
-- Gives: versions (of a part), ahead (parts), ensured_at.
SELECT Versions AS versions, Ahead AS ahead, EnsuredAt AS ensured_at FROM dms.PartitionSettings;

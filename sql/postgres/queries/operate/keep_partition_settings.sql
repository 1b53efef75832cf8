-- sql/postgres/queries/operate/keep_partition_settings.sql: option partitions: notes what an ensure was asked for, and that it is done.
-- Binds: versions (of a part, 1 or more); ahead (parts, 1 or more).
INSERT INTO dms.PartitionSettings (Versions, Ahead, EnsuredAt) VALUES (CAST(:versions AS bigint), CAST(:ahead AS integer), clock_timestamp())
ON CONFLICT (Id) DO UPDATE SET Versions = excluded.Versions, Ahead = excluded.Ahead, EnsuredAt = excluded.EnsuredAt

-- sql/sqlserver/views/JournalPartition.v1.sql: option partitions: the parts of each journal. It holds the versions from LowVersion (inclusive; null:
-- from the beginning on) to HighVersion (exclusive). The default one is the last, which has no end: ensure_partitions splits it while it is
-- empty. A part is called by its number, which changes when bounds come or go: look it up and use it in one transaction.
CREATE VIEW dms.JournalPartition (Journal, Partition, LowVersion, HighVersion, IsDefault) AS
SELECT journal.name, CAST(part.partition_number AS nvarchar(16)), CAST(low.value AS bigint), CAST(high.value AS bigint),
       CASE WHEN high.value IS NULL THEN 1 ELSE 0 END
FROM (VALUES (N'DocumentChangeEvent'), (N'IdentityChangeEvent'), (N'KeyChangeEvent'), (N'DocumentDeleteEvent')) AS journal (name)
INNER JOIN sys.partitions AS part ON part.object_id = OBJECT_ID(N'dms.' + journal.name) AND part.index_id = 1
INNER JOIN sys.partition_functions AS bounds ON bounds.name = N'dmsjournal_versions'
LEFT JOIN sys.partition_range_values AS low ON low.function_id = bounds.function_id AND low.boundary_id = part.partition_number - 1
LEFT JOIN sys.partition_range_values AS high ON high.function_id = bounds.function_id AND high.boundary_id = part.partition_number;
-- drop: DROP VIEW dms.JournalPartition;

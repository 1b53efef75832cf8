-- benchmarks/sql/plan/resources.sql: the resources that events.sql uses.
INSERT INTO dms.ResourceKey (ResourceKeyId, ProjectName, ResourceName, ResourceVersion)
SELECT n, 'Benchmark', 'Resource' || n, '1.0' FROM generate_series(1, 20) AS n;

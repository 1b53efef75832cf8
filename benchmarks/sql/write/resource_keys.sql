-- benchmarks/sql/write/resource_keys.sql: the resources that the statements beside it use.
INSERT INTO ResourceKey (ResourceKeyId, ProjectName, ResourceName, ResourceVersion)
VALUES (1, 'Benchmark', 'Child', '1.0'), (2, 'Benchmark', 'Parent', '1.0');

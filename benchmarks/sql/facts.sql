-- benchmarks/sql/facts.sql: the settings that figures depend on, as the server shows them.
SELECT name, current_setting(name) FROM pg_settings
WHERE name IN ('autovacuum', 'effective_cache_size', 'fsync', 'full_page_writes', 'jit', 'maintenance_work_mem',
               'max_parallel_workers_per_gather', 'max_wal_size', 'random_page_cost', 'shared_buffers', 'synchronous_commit',
               'wal_level', 'work_mem')
ORDER BY name

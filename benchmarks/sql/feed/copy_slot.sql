-- benchmarks/sql/feed/copy_slot.sql: a copy of a slot, where that is. Binds: slot, copy.
SELECT pg_copy_logical_replication_slot(:slot, :copy)

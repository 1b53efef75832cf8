-- benchmarks/sql/feed/drop_slot.sql: drops a slot, so that its WAL may go. Binds: slot.
SELECT pg_drop_replication_slot(:slot)

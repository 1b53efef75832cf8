-- benchmarks/sql/feed/create_slot.sql: a logical slot from here on, which stays where it is: each run reads a copy. Binds: slot.
SELECT pg_create_logical_replication_slot(:slot, 'pgoutput')

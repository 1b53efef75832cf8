-- benchmarks/sql/track/read_slot.sql: how many changes of a slot came since the last look; they are read, decoded and let go of. Binds: slot.
SELECT count(*) FROM pg_logical_slot_get_binary_changes(CAST(:slot AS name), NULL, NULL, 'proto_version', '1', 'publication_names', 'dmsjournal_benchmark')

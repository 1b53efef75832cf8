-- benchmarks/sql/feed/read_slot.sql: the next changes of a slot, whole transactions, in the protocol's own bytes (pgoutput has no text).
-- Binds: slot; changes, after which it stops at the end of a transaction.
SELECT lsn, xid, data FROM pg_logical_slot_get_binary_changes(
    CAST(:slot AS name), NULL, CAST(:changes AS integer), 'proto_version', '1', 'publication_names', 'dmsjournal_benchmark')

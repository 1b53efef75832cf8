-- benchmarks/sql/write/update_identity.dms.sql: an identity change as dms takes it: other key values are the signal.
UPDATE Document SET KeyValues = jsonb_set(KeyValues, '{renamed}', to_jsonb(clock_timestamp()))
WHERE DocumentId BETWEEN :first AND :last

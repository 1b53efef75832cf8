-- benchmarks/sql/write/update_identity.sql: an identity change whose stamp the writer draws. Binds: first, last (DocumentId, inclusive).
UPDATE Document SET IdentityVersion = nextval('ChangeVersionSequence'), IdentityLastModifiedAt = clock_timestamp(),
                    KeyValues = jsonb_set(KeyValues, '{renamed}', to_jsonb(clock_timestamp()))
WHERE DocumentId BETWEEN :first AND :last

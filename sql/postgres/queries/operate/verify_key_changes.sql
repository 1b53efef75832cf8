-- sql/postgres/queries/operate/verify_key_changes.sql: the key changes of a batch that cannot be read: a key that is too long, a time that no program has.
-- Binds: after (exclusive), last (inclusive): ChangeVersions. Gives: code, version. Plan: a range of PK_KeyChangeEvent.
SELECT found.code, event.ChangeVersion AS version
FROM dms.KeyChangeEvent AS event
CROSS JOIN LATERAL (VALUES
    ('key-too-long', pg_column_size(jsonb_build_array(event.OldKeyValues)) > 65536 OR octet_length(event.OldKeyValues::text) > 8192
                     OR pg_column_size(jsonb_build_array(event.NewKeyValues)) > 65536 OR octet_length(event.NewKeyValues::text) > 8192),
    ('time-unreadable', NOT (event.CreatedAt > '0001-01-02 UTC' AND event.CreatedAt < '9999-12-31 UTC'))
) AS found (code, holds)
WHERE event.ChangeVersion > CAST(:after AS bigint) AND event.ChangeVersion <= CAST(:last AS bigint) AND found.holds
ORDER BY event.ChangeVersion, found.code

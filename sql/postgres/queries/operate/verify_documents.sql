-- sql/postgres/queries/operate/verify_documents.sql: the documents of a batch that break invariants 1 and 2: one row a document and code.
-- Binds: after (exclusive), last (inclusive; DocumentIds). Stamps that may have been given twice: again_from, again_through (inclusive;
--   nothing where from is above through); rewound_through, rewound_at: stamps up to there that were given after then (null: none).
-- Gives: code, document_id; is_content, is_identity, is_key: what is to be signalled; content_version, identity_version.
-- An event of another resource is none: no page finds it. At or below the floor two documents may have one stamp: an adoption keeps versions.
-- Exact while others write: a stamp and its event are committed together, and floors rise with what they remove, so one snapshot shows
--   all of it or none. The sequence is read after the snapshot was taken.
-- A key's size is that of what it has as a copy: as it is stored it may be compressed, and its text takes seconds to make where it is hopeless.
-- Plan:  a range of PK_Document; lookups by the journals' primary keys and IX_KeyChangeEvent_Document.
WITH floors AS MATERIALIZED (  -- where a floor is missing nothing can be told
    SELECT coalesce(max(ChangeVersion) FILTER (WHERE Journal = 'DocumentChangeEvent'), 9223372036854775807) AS document,
           coalesce(max(ChangeVersion) FILTER (WHERE Journal = 'IdentityChangeEvent'), 9223372036854775807) AS identity
    FROM dms.JournalFloor
),
checked AS MATERIALIZED (
    SELECT d.DocumentId, d.ContentVersion, d.IdentityVersion,
           d.ContentVersion <= 0 AS content_unstamped, d.IdentityVersion <= 0 AS identity_unstamped,
           d.ContentVersion > (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence) AS content_above,
           d.IdentityVersion > (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM dms.ChangeVersionSequence) AS identity_above,
           d.ContentVersion > floors.document AND content.Operation IS NULL AS content_lost,
           d.IdentityVersion > floors.document AND identity.Operation IS NULL AS identity_lost,
           d.IdentityVersion > floors.identity AND identity.Operation = 'update' AND witness.found IS NULL AS witness_lost,
           renamed.found AND renamed.KeyValues IS DISTINCT FROM d.KeyValues AS key_lost,
           coalesce(pg_column_size(jsonb_build_array(d.KeyValues)) > 65536 OR octet_length(d.KeyValues::text) > 8192, false) AS key_long,
           NOT (d.ContentLastModifiedAt > '0001-01-02 UTC' AND d.ContentLastModifiedAt < '9999-12-31 UTC'
                AND d.IdentityLastModifiedAt > '0001-01-02 UTC' AND d.IdentityLastModifiedAt < '9999-12-31 UTC') AS time_unreadable,
           d.ContentVersion BETWEEN CAST(:again_from AS bigint) AND CAST(:again_through AS bigint)
               OR coalesce(d.ContentVersion <= CAST(:rewound_through AS bigint)
                           AND d.ContentLastModifiedAt > CAST(:rewound_at AS timestamptz), false)
               OR content_twice.found AND content.Operation IS NOT NULL AND d.ContentVersion > floors.document AS content_again,
           d.IdentityVersion BETWEEN CAST(:again_from AS bigint) AND CAST(:again_through AS bigint)
               OR coalesce(d.IdentityVersion <= CAST(:rewound_through AS bigint)
                           AND d.IdentityLastModifiedAt > CAST(:rewound_at AS timestamptz), false)
               OR identity_twice.found AND identity.Operation IS NOT NULL AND d.IdentityVersion > floors.document AS identity_again
    FROM dms.Document AS d
    CROSS JOIN floors
    LEFT JOIN LATERAL (SELECT Operation FROM dms.DocumentChangeEvent
                       WHERE ChangeVersion = d.ContentVersion AND DocumentId = d.DocumentId
                         AND ResourceKeyId = d.ResourceKeyId OFFSET 0) AS content ON true
    LEFT JOIN LATERAL (SELECT Operation FROM dms.DocumentChangeEvent
                       WHERE ChangeVersion = d.IdentityVersion AND DocumentId = d.DocumentId
                         AND ResourceKeyId = d.ResourceKeyId OFFSET 0) AS identity ON true
    LEFT JOIN LATERAL (SELECT true AS found FROM dms.IdentityChangeEvent
                       WHERE ChangeVersion = d.IdentityVersion AND DocumentId = d.DocumentId
                         AND ResourceKeyId = d.ResourceKeyId OFFSET 0) AS witness ON true
    LEFT JOIN LATERAL (SELECT true AS found FROM dms.DocumentChangeEvent
                       WHERE ChangeVersion = d.ContentVersion AND DocumentId <> d.DocumentId LIMIT 1) AS content_twice ON true
    LEFT JOIN LATERAL (SELECT true AS found FROM dms.DocumentChangeEvent
                       WHERE ChangeVersion = d.IdentityVersion AND DocumentId <> d.DocumentId LIMIT 1) AS identity_twice ON true
    LEFT JOIN LATERAL (SELECT true AS found, NewKeyValues AS KeyValues FROM dms.KeyChangeEvent
                       WHERE DocumentId = d.DocumentId AND DocumentUuid = d.DocumentUuid AND ChangeVersion <= d.IdentityVersion
                       ORDER BY DocumentId, ChangeVersion DESC LIMIT 1) AS renamed ON true
    WHERE d.DocumentId > CAST(:after AS bigint) AND d.DocumentId <= CAST(:last AS bigint)
)
SELECT found.code, checked.DocumentId AS document_id, found.is_content, found.is_identity, found.is_key,
       checked.ContentVersion AS content_version, checked.IdentityVersion AS identity_version
FROM checked
CROSS JOIN LATERAL (VALUES
    ('document-unstamped', content_unstamped, identity_unstamped, false, content_unstamped OR identity_unstamped),
    ('document-above-sequence', content_above AND content_lost, identity_above AND identity_lost, false, content_above OR identity_above),
    ('document-unjournaled', content_lost AND NOT content_above, identity_lost AND NOT identity_above, false,
     content_lost AND NOT content_above OR identity_lost AND NOT identity_above),
    ('identity-unjournaled', false, true, false, witness_lost),
    ('key-unjournaled', false, true, true, key_lost),
    ('key-too-long', false, false, false, key_long),
    ('time-unreadable', false, false, false, time_unreadable),
    ('stamp-given-again', content_again, identity_again, false, content_again OR identity_again)
) AS found (code, is_content, is_identity, is_key, holds)
WHERE found.holds
ORDER BY checked.DocumentId, found.code

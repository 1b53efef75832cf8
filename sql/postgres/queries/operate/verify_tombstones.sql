-- sql/postgres/queries/operate/verify_tombstones.sql: the tombstones of a batch that contradict a live document, share a stamp, or cannot be read.
-- Binds: after (exclusive), last (inclusive): ChangeVersions; again_from, again_through, rewound_through, rewound_at: as verify_documents.
-- Gives: code, version (the tombstone's), document_id (the live document's; the tombstone's with the other codes).
-- Exact while others write: one snapshot. Plan: a range of PK_DocumentDeleteEvent; lookups by key.
SELECT 'document-below-tombstone' AS code, t.ChangeVersion AS version, alive.DocumentId AS document_id
FROM dms.DocumentDeleteEvent AS t
CROSS JOIN LATERAL (
    SELECT DocumentId, ContentVersion, IdentityVersion FROM dms.Document WHERE DocumentId = t.DocumentId
    UNION
    SELECT DocumentId, ContentVersion, IdentityVersion FROM dms.Document WHERE DocumentUuid = t.DocumentUuid) AS alive
WHERE t.ChangeVersion > CAST(:after AS bigint) AND t.ChangeVersion <= CAST(:last AS bigint)
  AND greatest(alive.ContentVersion, alive.IdentityVersion) < t.ChangeVersion
UNION ALL
SELECT 'stamp-given-again', t.ChangeVersion, t.DocumentId
FROM dms.DocumentDeleteEvent AS t
LEFT JOIN LATERAL (SELECT true AS found FROM dms.DocumentChangeEvent WHERE ChangeVersion = t.ChangeVersion LIMIT 1) AS twice ON true
WHERE t.ChangeVersion > CAST(:after AS bigint) AND t.ChangeVersion <= CAST(:last AS bigint)
  AND (t.ChangeVersion BETWEEN CAST(:again_from AS bigint) AND CAST(:again_through AS bigint)
       OR coalesce(t.ChangeVersion <= CAST(:rewound_through AS bigint) AND t.CreatedAt > CAST(:rewound_at AS timestamptz), false)
       OR twice.found IS NOT NULL)
UNION ALL
SELECT 'key-too-long', ChangeVersion, DocumentId FROM dms.DocumentDeleteEvent
WHERE ChangeVersion > CAST(:after AS bigint) AND ChangeVersion <= CAST(:last AS bigint)
  AND (pg_column_size(jsonb_build_array(KeyValues)) > 65536 OR octet_length(KeyValues::text) > 8192)
UNION ALL
SELECT 'time-unreadable', ChangeVersion, DocumentId FROM dms.DocumentDeleteEvent
WHERE ChangeVersion > CAST(:after AS bigint) AND ChangeVersion <= CAST(:last AS bigint)
  AND NOT (CreatedAt > '0001-01-02 UTC' AND CreatedAt < '9999-12-31 UTC')
ORDER BY version, document_id

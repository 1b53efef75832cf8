-- sql/sqlserver/queries/operate/verify_tombstones.sql: the tombstones of a batch that contradict a live document, share a stamp, or have a key that is too long.
-- Binds: after (exclusive), last (inclusive): ChangeVersions; again_from, again_through, rewound_through, rewound_at: as verify_documents.
-- Gives: code, version (the tombstone's), document_id (the live document's; the tombstone's with the other codes).
-- Exact while others write, at each isolation level: the tombstone first, then who lives; who came later has a higher stamp.
-- Plan:  a range of PK_DocumentDeleteEvent; lookups by key.
SET NOCOUNT ON;
DECLARE @after bigint = :after, @last bigint = :last, @again_from bigint = :again_from, @again_through bigint = :again_through,
        @rewound_through bigint = :rewound_through, @rewound_at datetime2(7) = :rewound_at;
DECLARE @batch TABLE (
    Version      bigint           NOT NULL PRIMARY KEY,
    DocumentId   bigint           NOT NULL,
    DocumentUuid uniqueidentifier NOT NULL,
    CreatedAt    datetime2(7)     NOT NULL
);
INSERT INTO @batch (Version, DocumentId, DocumentUuid, CreatedAt)
SELECT ChangeVersion, DocumentId, DocumentUuid, CreatedAt FROM dms.DocumentDeleteEvent
WHERE ChangeVersion > @after AND ChangeVersion <= @last;
SELECT 'document-below-tombstone' AS code, batch.Version AS version, alive.DocumentId AS document_id
FROM @batch AS batch INNER JOIN dms.Document AS alive ON alive.DocumentId = batch.DocumentId
WHERE alive.ContentVersion < batch.Version AND alive.IdentityVersion < batch.Version
UNION
SELECT 'document-below-tombstone', batch.Version, alive.DocumentId
FROM @batch AS batch INNER JOIN dms.Document AS alive ON alive.DocumentUuid = batch.DocumentUuid
WHERE alive.ContentVersion < batch.Version AND alive.IdentityVersion < batch.Version
UNION
SELECT 'stamp-given-again', batch.Version, batch.DocumentId
FROM @batch AS batch
WHERE batch.Version BETWEEN @again_from AND @again_through
   OR (batch.Version <= @rewound_through AND batch.CreatedAt > @rewound_at)
   OR EXISTS (SELECT * FROM dms.DocumentChangeEvent AS event WHERE event.ChangeVersion = batch.Version)
UNION
SELECT 'key-too-long', ChangeVersion, DocumentId
FROM dms.DocumentDeleteEvent
WHERE ChangeVersion > @after AND ChangeVersion <= @last AND DATALENGTH(KeyValues) > 16384
ORDER BY version, document_id;

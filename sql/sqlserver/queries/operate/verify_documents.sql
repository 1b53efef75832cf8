-- sql/sqlserver/queries/operate/verify_documents.sql: the documents of a batch that break invariants 1 and 2: one row a document and code.
-- Binds: after (exclusive), last (inclusive; DocumentIds). Stamps that may have been given twice: again_from, again_through (inclusive;
--   nothing where from is above through); rewound_through, rewound_at: stamps up to there that were given after then (null: none).
-- Gives: code, document_id; is_content, is_identity, is_key: what is to be signalled; content_version, identity_version.
-- An event of another resource is none: no page finds it. At or below the floor two documents may have one stamp: an adoption keeps versions.
-- Exact while others write, at each isolation level, by the order of its statements: a document first, then the events that were
-- committed with its stamps, then the floors, which rise with what they remove, then the sequence, which only rises.
-- Plan:  a range of PK_Document; lookups by the journals' primary keys and IX_KeyChangeEvent_Document.
SET NOCOUNT ON;
DECLARE @after bigint = :after, @last bigint = :last, @again_from bigint = :again_from, @again_through bigint = :again_through,
        @rewound_through bigint = :rewound_through, @rewound_at datetime2(7) = :rewound_at;
DECLARE @document_floor bigint, @identity_floor bigint, @newest bigint;
DECLARE @batch TABLE (
    DocumentId      bigint           NOT NULL PRIMARY KEY,
    DocumentUuid    uniqueidentifier NOT NULL,
    ResourceKeyId   smallint         NOT NULL,
    ContentVersion  bigint           NOT NULL,
    IdentityVersion bigint           NOT NULL,
    KeyValues       nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    ContentAgain    bit              NOT NULL,
    IdentityAgain   bit              NOT NULL,
    ContentTwice    bit              NOT NULL DEFAULT 0,
    IdentityTwice   bit              NOT NULL DEFAULT 0,
    ContentLost     bit              NOT NULL DEFAULT 0,
    IdentityLost    bit              NOT NULL DEFAULT 0,
    WitnessLost     bit              NOT NULL DEFAULT 0,
    KeyLost         bit              NOT NULL DEFAULT 0
);
INSERT INTO @batch (DocumentId, DocumentUuid, ResourceKeyId, ContentVersion, IdentityVersion, KeyValues, ContentAgain, IdentityAgain)
SELECT DocumentId, DocumentUuid, ResourceKeyId, ContentVersion, IdentityVersion, KeyValues,
       CASE WHEN ContentVersion BETWEEN @again_from AND @again_through
                 OR (ContentVersion <= @rewound_through AND ContentLastModifiedAt > @rewound_at) THEN 1 ELSE 0 END,
       CASE WHEN IdentityVersion BETWEEN @again_from AND @again_through
                 OR (IdentityVersion <= @rewound_through AND IdentityLastModifiedAt > @rewound_at) THEN 1 ELSE 0 END
FROM dms.Document
WHERE DocumentId > @after AND DocumentId <= @last;

UPDATE batch SET ContentLost = 1
FROM @batch AS batch
WHERE NOT EXISTS (
    SELECT * FROM dms.DocumentChangeEvent AS event
    WHERE event.ChangeVersion = batch.ContentVersion AND event.DocumentId = batch.DocumentId
      AND event.ResourceKeyId = batch.ResourceKeyId)
OPTION (LOOP JOIN);
UPDATE batch SET IdentityLost = 1
FROM @batch AS batch
WHERE NOT EXISTS (
    SELECT * FROM dms.DocumentChangeEvent AS event
    WHERE event.ChangeVersion = batch.IdentityVersion AND event.DocumentId = batch.DocumentId
      AND event.ResourceKeyId = batch.ResourceKeyId)
OPTION (LOOP JOIN);
UPDATE batch SET WitnessLost = 1
FROM @batch AS batch
WHERE EXISTS (
    SELECT * FROM dms.DocumentChangeEvent AS event
    WHERE event.ChangeVersion = batch.IdentityVersion AND event.DocumentId = batch.DocumentId AND event.Operation = 'update')
  AND NOT EXISTS (
    SELECT * FROM dms.IdentityChangeEvent AS event
    WHERE event.ChangeVersion = batch.IdentityVersion AND event.DocumentId = batch.DocumentId
      AND event.ResourceKeyId = batch.ResourceKeyId)
OPTION (LOOP JOIN);
UPDATE batch SET KeyLost = 1
FROM @batch AS batch
CROSS APPLY (
    SELECT TOP (1) NewKeyValues AS KeyValues FROM dms.KeyChangeEvent AS event
    WHERE event.DocumentId = batch.DocumentId AND event.DocumentUuid = batch.DocumentUuid
      AND event.ChangeVersion <= batch.IdentityVersion
    ORDER BY event.ChangeVersion DESC
) AS renamed
WHERE renamed.KeyValues <> batch.KeyValues OR (renamed.KeyValues IS NULL AND batch.KeyValues IS NOT NULL)
   OR (renamed.KeyValues IS NOT NULL AND batch.KeyValues IS NULL)
OPTION (LOOP JOIN);
UPDATE batch SET ContentTwice = 1
FROM @batch AS batch
WHERE batch.ContentLost = 0 AND EXISTS (
    SELECT * FROM dms.DocumentChangeEvent AS event
    WHERE event.ChangeVersion = batch.ContentVersion AND event.DocumentId <> batch.DocumentId)
OPTION (LOOP JOIN);
UPDATE batch SET IdentityTwice = 1
FROM @batch AS batch
WHERE batch.IdentityLost = 0 AND EXISTS (
    SELECT * FROM dms.DocumentChangeEvent AS event
    WHERE event.ChangeVersion = batch.IdentityVersion AND event.DocumentId <> batch.DocumentId)
OPTION (LOOP JOIN);

SELECT @document_floor = MAX(CASE WHEN Journal = N'DocumentChangeEvent' THEN ChangeVersion END),
       @identity_floor = MAX(CASE WHEN Journal = N'IdentityChangeEvent' THEN ChangeVersion END)
FROM dms.JournalFloor;
UPDATE @batch SET ContentAgain = 1 WHERE ContentTwice = 1 AND ContentVersion > @document_floor;
UPDATE @batch SET IdentityAgain = 1 WHERE IdentityTwice = 1 AND IdentityVersion > @document_floor;
UPDATE @batch SET ContentLost = 0 WHERE @document_floor IS NULL OR ContentVersion <= @document_floor;  -- not to be told without a floor
UPDATE @batch SET IdentityLost = 0 WHERE @document_floor IS NULL OR IdentityVersion <= @document_floor;
UPDATE @batch SET WitnessLost = 0 WHERE @identity_floor IS NULL OR IdentityVersion <= @identity_floor;
EXEC dms.newest_stamp @newest OUTPUT;

SELECT found.code, found.DocumentId AS document_id, found.is_content, found.is_identity, found.is_key,
       found.ContentVersion AS content_version, found.IdentityVersion AS identity_version
FROM (
    SELECT 'document-unstamped' AS code, DocumentId, ContentVersion, IdentityVersion,
           CASE WHEN ContentVersion <= 0 THEN 1 ELSE 0 END AS is_content, CASE WHEN IdentityVersion <= 0 THEN 1 ELSE 0 END AS is_identity,
           0 AS is_key
    FROM @batch WHERE ContentVersion <= 0 OR IdentityVersion <= 0
    UNION ALL
    SELECT 'document-above-sequence', DocumentId, ContentVersion, IdentityVersion,
           CASE WHEN ContentVersion > @newest AND ContentLost = 1 THEN 1 ELSE 0 END,
           CASE WHEN IdentityVersion > @newest AND IdentityLost = 1 THEN 1 ELSE 0 END, 0
    FROM @batch WHERE ContentVersion > @newest OR IdentityVersion > @newest
    UNION ALL
    SELECT 'document-unjournaled', DocumentId, ContentVersion, IdentityVersion,
           CASE WHEN ContentVersion <= @newest AND ContentLost = 1 THEN 1 ELSE 0 END,
           CASE WHEN IdentityVersion <= @newest AND IdentityLost = 1 THEN 1 ELSE 0 END, 0
    FROM @batch
    WHERE (ContentVersion <= @newest AND ContentLost = 1) OR (IdentityVersion <= @newest AND IdentityLost = 1)
    UNION ALL
    SELECT 'identity-unjournaled', DocumentId, ContentVersion, IdentityVersion, 0, 1, 0 FROM @batch WHERE WitnessLost = 1
    UNION ALL
    SELECT 'key-unjournaled', DocumentId, ContentVersion, IdentityVersion, 0, 1, 1 FROM @batch WHERE KeyLost = 1
    UNION ALL
    SELECT 'key-too-long', DocumentId, ContentVersion, IdentityVersion, 0, 0, 0 FROM @batch WHERE DATALENGTH(KeyValues) > 16384
    UNION ALL
    SELECT 'stamp-given-again', DocumentId, ContentVersion, IdentityVersion, CAST(ContentAgain AS int), CAST(IdentityAgain AS int), 0
    FROM @batch WHERE ContentAgain = 1 OR IdentityAgain = 1
) AS found
ORDER BY found.DocumentId, found.code;

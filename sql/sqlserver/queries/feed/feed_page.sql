-- sql/sqlserver/queries/feed/feed_page.sql: the next events of the feed after a cursor, in (ChangeVersion, DocumentId) order.
-- Binds: after_version, after_id (exclusive); max_version (inclusive, at most a horizon that was read before); page_size (events, 1 or
--   more); scan_size (rows to look at, page_size or more). What is wanted of them, null for all: resource_key_id (read by its index);
--   document_id; bucket of bucket_count (docs/how-it-works.md, The feed); operations and resource_key_ids (JSON arrays). with_key,
--   with_body: whether to give keys and bodies; a key that cannot be read is passed by without it (dmsjournal/read/unreadable.py).
-- Gives: one row an event, and one row at least. Every row has `floor`, the highest of the journals that events are told by; event_floor,
--   the higher of the two that were looked in for the last event; drawn, the newest stamp that the sequence has given; now; rows_scanned;
--   (position_version, position_id), the last position that was looked at, null where that is max_version. found_…: the last event at or
--   below the cursor's version; last_…: the last one at or below the new position's. A document's uuid and key are those of the lifetime
--   that the event belongs to, as of the event; old_key_values is the key before it, null where it changed none.
-- Plan: one range of each journal's primary key, or of its index by resource, of scan_size + 1 rows at most; and for each event lookups by
--   key. So what it reads depends on scan_size and page_size, never on the window nor on what is filtered away.
-- Exact also where each row is read at a time of its own (plain READ COMMITTED), by the order of the statements: a body before its document's
--   version, which if it is still the event's was the event's at the body's time; a document before its tombstones and key changes, which tell
--   what it was if it has changed or gone in between; all rows before the floors (see deletes.sql).
SET NOCOUNT ON;
DECLARE @after_version bigint = :after_version, @after_id bigint = :after_id, @max_version bigint = :max_version,
        @page_size bigint = :page_size, @scan_size bigint = :scan_size, @resource_key_id smallint = :resource_key_id,
        @document_id bigint = :document_id, @bucket bigint = :bucket, @bucket_count bigint = :bucket_count,
        @operations nvarchar(max) = :operations, @resource_key_ids nvarchar(max) = :resource_key_ids, @with_key bit = :with_key,
        @with_body bit = :with_body;
DECLARE @reach bigint = @max_version, @rows_scanned bigint, @last_place bigint, @position_version bigint, @position_id bigint, @drawn bigint;
DECLARE @last_version bigint;
DECLARE @read TABLE (
    ChangeVersion bigint       NOT NULL,
    DocumentId    bigint       NOT NULL,
    ResourceKeyId smallint     NOT NULL,
    TransactionId bigint       NOT NULL,
    CreatedAt     datetime2(7) NOT NULL,
    Operation     varchar(6)   NOT NULL,
    PRIMARY KEY (ChangeVersion, DocumentId)
);
DECLARE @scanned TABLE (
    Place         bigint       NOT NULL PRIMARY KEY,
    ChangeVersion bigint       NOT NULL,
    DocumentId    bigint       NOT NULL,
    ResourceKeyId smallint     NOT NULL,
    TransactionId bigint       NOT NULL,
    CreatedAt     datetime2(7) NOT NULL,
    Operation     varchar(6)   NOT NULL
);
DECLARE @wanted TABLE (Number bigint NOT NULL PRIMARY KEY, Place bigint NOT NULL);
DECLARE @body TABLE (Number bigint NOT NULL PRIMARY KEY, DocumentJson nvarchar(max) NOT NULL);
DECLARE @document TABLE (
    Number       bigint           NOT NULL PRIMARY KEY,
    DocumentUuid uniqueidentifier NOT NULL,
    KeyValues    nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    IsLatest     bit              NOT NULL
);
DECLARE @event TABLE (
    Number        bigint           NOT NULL PRIMARY KEY,
    ChangeVersion bigint           NOT NULL,
    DocumentId    bigint           NOT NULL,
    ResourceKeyId smallint         NOT NULL,
    TransactionId bigint           NOT NULL,
    CreatedAt     datetime2(7)     NOT NULL,
    Operation     varchar(6)       NOT NULL,
    DocumentUuid  uniqueidentifier NULL,
    KeyValues     nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    OldKeyValues  nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    DocumentJson  nvarchar(max)    NULL
);
DECLARE @neighbour TABLE (  -- the last event at or below the cursor (0), and at or below the new position (1)
    IsNew         bit          NOT NULL PRIMARY KEY,
    ChangeVersion bigint       NOT NULL,
    DocumentId    bigint       NOT NULL,
    TransactionId bigint       NOT NULL,
    CreatedAt     datetime2(7) NOT NULL
);

IF @resource_key_id IS NULL
    INSERT INTO @read (ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, Operation)
    SELECT TOP (@scan_size + 1) ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, Operation
    FROM dms.DocumentChangeEvent WITH (INDEX (PK_DocumentChangeEvent), FORCESEEK)
    WHERE ChangeVersion >= @after_version AND (ChangeVersion > @after_version OR DocumentId > @after_id) AND ChangeVersion <= @max_version
    ORDER BY ChangeVersion, DocumentId;
ELSE
    INSERT INTO @read (ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, Operation)
    SELECT TOP (@scan_size + 1) ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, Operation
    FROM dms.DocumentChangeEvent WITH (INDEX (IX_DocumentChangeEvent_Resource), FORCESEEK)
    WHERE ResourceKeyId = @resource_key_id
      AND ChangeVersion >= @after_version AND (ChangeVersion > @after_version OR DocumentId > @after_id) AND ChangeVersion <= @max_version
    ORDER BY ChangeVersion, DocumentId;
IF (SELECT COUNT(*) FROM @read) > @scan_size  -- tombstones behind a full scan of changes are not looked at
    SELECT @reach = MAX(ChangeVersion) FROM @read;

IF @resource_key_id IS NULL
    INSERT INTO @read (ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, Operation)
    SELECT TOP (@scan_size + 1) ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, 'delete'
    FROM dms.DocumentDeleteEvent WITH (INDEX (PK_DocumentDeleteEvent), FORCESEEK)
    WHERE ChangeVersion >= @after_version AND (ChangeVersion > @after_version OR DocumentId > @after_id) AND ChangeVersion <= @reach
    ORDER BY ChangeVersion;
ELSE
    INSERT INTO @read (ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, Operation)
    SELECT TOP (@scan_size + 1) ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, 'delete'
    FROM dms.DocumentDeleteEvent WITH (INDEX (IX_DocumentDeleteEvent_Resource), FORCESEEK)
    WHERE ResourceKeyId = @resource_key_id
      AND ChangeVersion >= @after_version AND (ChangeVersion > @after_version OR DocumentId > @after_id) AND ChangeVersion <= @reach
    ORDER BY ChangeVersion;
SELECT @rows_scanned = COUNT(*) FROM @read;

INSERT INTO @scanned (Place, ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, Operation)
SELECT placed.Place, placed.ChangeVersion, placed.DocumentId, placed.ResourceKeyId, placed.TransactionId, placed.CreatedAt, placed.Operation
FROM (SELECT ROW_NUMBER() OVER (ORDER BY ChangeVersion, DocumentId) AS Place, ChangeVersion, DocumentId, ResourceKeyId, TransactionId,
             CreatedAt, Operation
      FROM @read) AS placed
WHERE placed.Place <= @scan_size + 1;  -- the row after scan_size only tells where the one before it ends

INSERT INTO @wanted (Number, Place)
SELECT ROW_NUMBER() OVER (ORDER BY scanned.Place), scanned.Place
FROM @scanned AS scanned
CROSS APPLY (SELECT scanned.DocumentId & CAST(4294967295 AS bigint) AS low) AS part
CROSS APPLY (
    SELECT (part.low * CAST(1327217885 AS bigint)
            + ((scanned.DocumentId - part.low) / CAST(4294967296 AS bigint) + CAST(2147483648 AS bigint)) * CAST(805306457 AS bigint))
           % CAST(2147483647 AS bigint) AS mixed) AS once
CROSS APPLY (
    SELECT (once.mixed ^ (once.mixed / CAST(32768 AS bigint))) * CAST(1103515245 AS bigint) % CAST(2147483647 AS bigint) AS hash) AS twice
WHERE scanned.Place <= @scan_size
  AND (@document_id IS NULL OR scanned.DocumentId = @document_id)
  AND (@bucket_count IS NULL OR twice.hash * @bucket_count / CAST(2147483647 AS bigint) = @bucket)
  AND (@operations IS NULL OR scanned.Operation IN (SELECT CAST(value AS varchar(6)) FROM OPENJSON(@operations)))
  AND (@resource_key_ids IS NULL OR scanned.ResourceKeyId IN (SELECT CAST(value AS smallint) FROM OPENJSON(@resource_key_ids)));

IF (SELECT COUNT(*) FROM @wanted) > @page_size  -- a full page was looked at to its last event, else to the scan's end
    SELECT @last_place = Place FROM @wanted WHERE Number = @page_size;
ELSE IF (SELECT COUNT(*) FROM @scanned) > @scan_size
    SET @last_place = @scan_size;
SELECT @position_version = here.ChangeVersion,  -- a version whose events were all looked at was read in full
       @position_id = CASE WHEN following.ChangeVersion > here.ChangeVersion THEN CAST(9223372036854775807 AS bigint) ELSE here.DocumentId END
FROM @scanned AS here INNER JOIN @scanned AS following ON following.Place = here.Place + 1
WHERE here.Place = @last_place;
DELETE FROM @wanted WHERE Number > @page_size;

IF @with_body = 1
    INSERT INTO @body (Number, DocumentJson)
    SELECT wanted.Number, cache.DocumentJson
    FROM @wanted AS wanted
    INNER JOIN @scanned AS scanned ON scanned.Place = wanted.Place
    INNER JOIN dms.DocumentCache AS cache ON cache.DocumentId = scanned.DocumentId
    OPTION (LOOP JOIN, FORCE ORDER);
INSERT INTO @document (Number, DocumentUuid, KeyValues, IsLatest)
SELECT wanted.Number, document.DocumentUuid, document.KeyValues,
       CASE WHEN scanned.ChangeVersion = CASE WHEN document.ContentVersion > document.IdentityVersion THEN document.ContentVersion
                                              ELSE document.IdentityVersion END THEN 1 ELSE 0 END
FROM @wanted AS wanted
INNER JOIN @scanned AS scanned ON scanned.Place = wanted.Place
INNER JOIN dms.Document AS document ON document.DocumentId = scanned.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);
INSERT INTO @event (Number, ChangeVersion, DocumentId, ResourceKeyId, TransactionId, CreatedAt, Operation, DocumentUuid, KeyValues,
                    OldKeyValues, DocumentJson)
SELECT wanted.Number, scanned.ChangeVersion, scanned.DocumentId, scanned.ResourceKeyId, scanned.TransactionId, scanned.CreatedAt,
       scanned.Operation, lifetime.DocumentUuid,
       CASE WHEN later.DocumentUuid = lifetime.DocumentUuid
                 AND (tombstone.ChangeVersion IS NULL OR later.ChangeVersion < tombstone.ChangeVersion)
            THEN later.OldKeyValues ELSE lifetime.KeyValues END,
       own.OldKeyValues,
       CASE WHEN document.IsLatest = 1 AND tombstone.DocumentUuid IS NULL THEN body.DocumentJson END
FROM @wanted AS wanted
INNER JOIN @scanned AS scanned ON scanned.Place = wanted.Place
LEFT JOIN @document AS document ON document.Number = wanted.Number
LEFT JOIN @body AS body ON body.Number = wanted.Number
OUTER APPLY (  -- the end of the lifetime that the event belongs to; a deleted document's own
    SELECT TOP (1) ChangeVersion, DocumentUuid, KeyValues
    FROM dms.DocumentDeleteEvent WITH (INDEX (IX_DocumentDeleteEvent_Document), FORCESEEK)
    WHERE DocumentId = scanned.DocumentId AND ChangeVersion >= scanned.ChangeVersion
    ORDER BY ChangeVersion
) AS tombstone
OUTER APPLY (  -- the key until the document's next key change, if that is in the same lifetime: a uuid may come again
    SELECT TOP (1) ChangeVersion, DocumentUuid, OldKeyValues
    FROM dms.KeyChangeEvent WITH (INDEX (IX_KeyChangeEvent_Document), FORCESEEK)
    WHERE DocumentId = scanned.DocumentId AND ChangeVersion > scanned.ChangeVersion
    ORDER BY ChangeVersion
) AS later
LEFT JOIN dms.KeyChangeEvent AS own
    ON own.ChangeVersion = scanned.ChangeVersion AND own.DocumentId = scanned.DocumentId AND scanned.Operation = 'update'
CROSS APPLY (
    SELECT CASE WHEN tombstone.DocumentUuid IS NULL THEN document.DocumentUuid ELSE tombstone.DocumentUuid END AS DocumentUuid,
           CASE WHEN tombstone.DocumentUuid IS NULL THEN document.KeyValues ELSE tombstone.KeyValues END AS KeyValues
) AS lifetime
OPTION (LOOP JOIN, FORCE ORDER);

SET @last_version = CASE WHEN @position_version IS NOT NULL THEN @position_version
                         WHEN @after_version > @max_version THEN @after_version ELSE @max_version END;
INSERT INTO @neighbour (IsNew, ChangeVersion, DocumentId, TransactionId, CreatedAt)
SELECT wanted.IsNew, nearest.ChangeVersion, nearest.DocumentId, nearest.TransactionId, nearest.CreatedAt
FROM (SELECT CAST(0 AS bit) AS IsNew, @after_version AS ChangeVersion UNION ALL SELECT CAST(1 AS bit), @last_version) AS wanted
CROSS APPLY (
    SELECT TOP (1) either.ChangeVersion, either.DocumentId, either.TransactionId, either.CreatedAt
    FROM (
        SELECT changed.ChangeVersion, changed.DocumentId, changed.TransactionId, changed.CreatedAt
        FROM (SELECT TOP (1) ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentChangeEvent
              WHERE ChangeVersion <= wanted.ChangeVersion ORDER BY ChangeVersion DESC, DocumentId DESC) AS changed
        UNION ALL
        SELECT deleted.ChangeVersion, deleted.DocumentId, deleted.TransactionId, deleted.CreatedAt
        FROM (SELECT TOP (1) ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentDeleteEvent
              WHERE ChangeVersion <= wanted.ChangeVersion ORDER BY ChangeVersion DESC) AS deleted
    ) AS either
    ORDER BY either.ChangeVersion DESC, either.DocumentId DESC
) AS nearest;
EXEC dms.newest_stamp @drawn OUTPUT;
SELECT floors.floor, floors.event_floor, @drawn AS drawn, SYSUTCDATETIME() AS now, @rows_scanned AS rows_scanned,
       @position_version AS position_version, @position_id AS position_id,
       found.ChangeVersion AS found_version, found.DocumentId AS found_id, found.TransactionId AS found_transaction_id,
       found.CreatedAt AS found_at,
       newest.ChangeVersion AS last_version, newest.DocumentId AS last_id, newest.TransactionId AS last_transaction_id,
       newest.CreatedAt AS last_at,
       event.ChangeVersion AS change_version, event.DocumentId AS document_id, event.ResourceKeyId AS resource_key_id,
       event.TransactionId AS transaction_id, event.CreatedAt AS created_at, event.Operation AS operation,
       event.DocumentUuid AS document_uuid, CASE WHEN @with_key = 1 THEN event.KeyValues END AS key_values,
       CASE WHEN @with_key = 1 THEN event.OldKeyValues END AS old_key_values, event.DocumentJson AS body
FROM (
    SELECT MAX(CASE WHEN Journal IN (N'DocumentChangeEvent', N'DocumentDeleteEvent', N'KeyChangeEvent') THEN ChangeVersion END) AS floor,
           MAX(CASE WHEN Journal IN (N'DocumentChangeEvent', N'DocumentDeleteEvent') THEN ChangeVersion END) AS event_floor
    FROM dms.JournalFloor
) AS floors
LEFT JOIN @neighbour AS found ON found.IsNew = 0
LEFT JOIN @neighbour AS newest ON newest.IsNew = 1
LEFT JOIN @event AS event ON 1 = 1
ORDER BY event.Number;

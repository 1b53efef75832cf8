-- sql/sqlserver/queries/read/images.sql: the body of a document before and after each of these events.
-- Binds: rows (JSON array of {change_version, document_id}; at most a horizon that was read before).
-- Gives: change_version, document_id, body_before, body_after (null: there was none). No row for an event that is not in the journals, or
--   that is from before the option, or of a resource that has no images.
-- An event without an image of its own did not change the body: what the document's next image has before, or, where it changed no more,
--   the body that it has now. A new document had none, a deleted one has none.
-- Exact in any isolation level, also where each statement and each row is read at a time of its own: the bodies are read before the images,
--   so what changes between the two is told by an image; and the floors last, so an image that a prune took between goes unanswered:
--   of a prune of images alone, the version above which they are whole. So are the resources that have none.
-- Plan: lookups by the primary keys, and the first of a range of IX_DocumentImage_Document, for each event.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows, @since bigint;
DECLARE @event TABLE (
    ChangeVersion bigint        NOT NULL,
    DocumentId    bigint        NOT NULL,
    ResourceKeyId smallint      NOT NULL,
    Operation     varchar(6)    NOT NULL,
    BodyNow       nvarchar(max) NULL,
    IsOwn         bit           NOT NULL DEFAULT 0,
    BodyBefore    nvarchar(max) NULL,
    BodyAfter     nvarchar(max) NULL,
    PRIMARY KEY (ChangeVersion, DocumentId)
);
SELECT @since = MAX(ChangeVersion) FROM dms.DocumentImageFloor;
INSERT INTO @event (ChangeVersion, DocumentId, ResourceKeyId, Operation)
SELECT DISTINCT listed.change_version, listed.document_id, COALESCE(event.ResourceKeyId, tombstone.ResourceKeyId),
       COALESCE(event.Operation, 'delete')
FROM OPENJSON(@rows) WITH (change_version bigint '$.change_version', document_id bigint '$.document_id') AS listed
LEFT JOIN dms.DocumentChangeEvent AS event ON event.ChangeVersion = listed.change_version AND event.DocumentId = listed.document_id
LEFT JOIN dms.DocumentDeleteEvent AS tombstone ON tombstone.ChangeVersion = listed.change_version AND tombstone.DocumentId = listed.document_id
WHERE listed.change_version > @since AND (event.ChangeVersion IS NOT NULL OR tombstone.ChangeVersion IS NOT NULL)
OPTION (LOOP JOIN, FORCE ORDER);
UPDATE event SET BodyNow = cache.DocumentJson
FROM @event AS event INNER JOIN dms.DocumentCache AS cache ON cache.DocumentId = event.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);
UPDATE event SET IsOwn = 1, BodyBefore = own.BodyBefore, BodyAfter = own.BodyAfter
FROM @event AS event INNER JOIN dms.DocumentImage AS own ON own.ChangeVersion = event.ChangeVersion AND own.DocumentId = event.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);
UPDATE event SET BodyNow = later.BodyBefore
FROM @event AS event
CROSS APPLY (
    SELECT TOP (1) BodyBefore FROM dms.DocumentImage
    WHERE DocumentId = event.DocumentId AND ChangeVersion > event.ChangeVersion
    ORDER BY ChangeVersion) AS later
WHERE event.IsOwn = 0
OPTION (LOOP JOIN, FORCE ORDER);
SELECT event.ChangeVersion AS change_version, event.DocumentId AS document_id,
       CAST(CASE WHEN event.IsOwn = 1 THEN event.BodyBefore WHEN event.Operation = 'update' THEN event.BodyNow END AS nvarchar(max))
           AS body_before,  -- the casts are for Babelfish, to which a CASE of nvarchar is a varchar
       CAST(CASE WHEN event.IsOwn = 1 THEN event.BodyAfter WHEN event.Operation <> 'delete' THEN event.BodyNow END AS nvarchar(max))
           AS body_after
FROM @event AS event
INNER JOIN dms.JournalFloor AS floor
    ON floor.Journal = CASE WHEN event.Operation = 'delete' THEN N'DocumentDeleteEvent' ELSE N'DocumentChangeEvent' END
WHERE event.ChangeVersion > floor.ChangeVersion AND event.ChangeVersion > (SELECT MAX(ChangeVersion) FROM dms.DocumentImageFloor)
  AND NOT EXISTS (SELECT * FROM dms.ImageExclusion AS excluded WHERE excluded.ResourceKeyId = event.ResourceKeyId)
ORDER BY event.ChangeVersion, event.DocumentId;

-- sql/sqlserver/queries/operate/verify_vanished.sql: which of these documents that are gone break invariant 7: no tombstone above all stamps.
-- Binds: rows (JSON array of {document_id, version, born}, as verify_events gives them).
-- Gives: code, document_id, version; tombstone, the version of one that is too low; is_known: the uuid is told by a key change, or by
--   that tombstone. What is at or below the tombstones' floor is not judged: its tombstone may have been pruned.
-- Exact while others write, at each isolation level, by the order of its statements: that a document is gone first, then its tombstone,
-- which was committed with that, then the floor, which rises with what was pruned.
-- Plan:  one pass over the tombstones for all the rows; lookups by PK_Document and IX_KeyChangeEvent_Document.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows, @floor bigint;
DECLARE @wanted TABLE (
    DocumentId bigint NOT NULL PRIMARY KEY,
    Version    bigint NOT NULL,
    Born       bigint NOT NULL,
    Tombstone  bigint NULL,
    IsKnown    bit    NOT NULL DEFAULT 0
);
INSERT INTO @wanted (DocumentId, Version, Born)
SELECT listed.document_id, listed.version, COALESCE(listed.born, 0)
FROM OPENJSON(@rows) WITH (document_id bigint '$.document_id', version bigint '$.version', born bigint '$.born') AS listed;
DELETE wanted
FROM @wanted AS wanted
WHERE EXISTS (SELECT * FROM dms.Document AS document WHERE document.DocumentId = wanted.DocumentId)
OPTION (LOOP JOIN);
UPDATE wanted SET Tombstone = buried.Version
FROM @wanted AS wanted
INNER JOIN (
    SELECT event.DocumentId, MAX(event.ChangeVersion) AS Version
    FROM dms.DocumentDeleteEvent AS event
    GROUP BY event.DocumentId
) AS buried ON buried.DocumentId = wanted.DocumentId
OPTION (HASH JOIN);
UPDATE wanted SET IsKnown = 1
FROM @wanted AS wanted
WHERE wanted.Tombstone > wanted.Born OR EXISTS (
    SELECT * FROM dms.KeyChangeEvent AS event
    WHERE event.DocumentId = wanted.DocumentId AND event.ChangeVersion > wanted.Born AND event.ChangeVersion > COALESCE(wanted.Tombstone, 0))
OPTION (LOOP JOIN);
SELECT @floor = MAX(ChangeVersion) FROM dms.JournalFloor WHERE Journal = N'DocumentDeleteEvent';
SELECT CASE WHEN Tombstone > Born THEN 'tombstone-too-low' ELSE 'document-vanished' END AS code,
       DocumentId AS document_id, Version AS version, Tombstone AS tombstone, IsKnown AS is_known
FROM @wanted
WHERE COALESCE(Tombstone, 0) < Version AND Version > @floor
ORDER BY DocumentId;

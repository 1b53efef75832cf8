-- sql/sqlserver/queries/operate/verify_images.sql: the images of a batch whose event is not in the journals, above the floors.
-- Binds: after (exclusive), last (inclusive): ChangeVersions. Gives: code, change_version, document_id.
-- Exact while others write: an image is committed with its event; the images are read first and the floors last, so that an event which a
-- prune took between is not missed.
-- Plan:  a range of PK_DocumentImage; lookups by the journals' primary keys.
SET NOCOUNT ON;
DECLARE @after bigint = :after, @last bigint = :last;
DECLARE @image TABLE (ChangeVersion bigint NOT NULL, DocumentId bigint NOT NULL, IsDelete bit NOT NULL, PRIMARY KEY (ChangeVersion, DocumentId));
INSERT INTO @image (ChangeVersion, DocumentId, IsDelete)
SELECT ChangeVersion, DocumentId, IsDelete FROM dms.DocumentImage
WHERE ChangeVersion > @after AND ChangeVersion <= @last AND ChangeVersion < CAST(9223372036854775807 AS bigint);
DELETE image
FROM @image AS image INNER JOIN dms.DocumentChangeEvent AS event ON event.ChangeVersion = image.ChangeVersion AND event.DocumentId = image.DocumentId
WHERE image.IsDelete = 0
OPTION (LOOP JOIN, FORCE ORDER);
DELETE image
FROM @image AS image INNER JOIN dms.DocumentDeleteEvent AS event ON event.ChangeVersion = image.ChangeVersion AND event.DocumentId = image.DocumentId
WHERE image.IsDelete = 1
OPTION (LOOP JOIN, FORCE ORDER);
SELECT 'image-without-event' AS code, image.ChangeVersion AS change_version, image.DocumentId AS document_id
FROM @image AS image
INNER JOIN dms.JournalFloor AS floor ON floor.Journal = CASE WHEN image.IsDelete = 1 THEN N'DocumentDeleteEvent' ELSE N'DocumentChangeEvent' END
WHERE image.ChangeVersion > floor.ChangeVersion
ORDER BY image.ChangeVersion, image.DocumentId;

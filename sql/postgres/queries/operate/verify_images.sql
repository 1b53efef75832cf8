-- sql/postgres/queries/operate/verify_images.sql: the images of a batch whose event is not in the journals, above the floors.
-- Binds: after (exclusive), last (inclusive): ChangeVersions. Gives: code, change_version, document_id.
-- Exact while others write: an image is committed with its event, and goes after the floor has passed it; one snapshot.
-- Plan:  a range of PK_DocumentImage; lookups by the journals' primary keys.
SELECT 'image-without-event' AS code, image.ChangeVersion AS change_version, image.DocumentId AS document_id
FROM dms.DocumentImage AS image
LEFT JOIN LATERAL (
    SELECT true AS found FROM dms.DocumentChangeEvent
    WHERE NOT image.IsDelete AND ChangeVersion = image.ChangeVersion AND DocumentId = image.DocumentId
    UNION ALL
    SELECT true FROM dms.DocumentDeleteEvent
    WHERE image.IsDelete AND ChangeVersion = image.ChangeVersion AND DocumentId = image.DocumentId
) AS event ON true
WHERE image.ChangeVersion > CAST(:after AS bigint) AND image.ChangeVersion <= CAST(:last AS bigint)
  AND image.ChangeVersion < 9223372036854775807
  AND image.ChangeVersion > (SELECT max(ChangeVersion) FROM dms.JournalFloor
                             WHERE Journal = CASE WHEN image.IsDelete THEN 'DocumentDeleteEvent' ELSE 'DocumentChangeEvent' END)
  AND event.found IS NULL
ORDER BY image.ChangeVersion, image.DocumentId

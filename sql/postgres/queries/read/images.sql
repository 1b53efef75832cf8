-- sql/postgres/queries/read/images.sql: the body of a document before and after each of these events.
-- Binds: rows (JSON array of {change_version, document_id}; at most a horizon that was read before).
-- Gives: change_version, document_id, body_before, body_after (null: there was none). No row for an event that is not in the journals, or
--   that is from before the option, or of a resource that has no images.
-- An event without an image of its own did not change the body: what the document's next image has before, or, where it changed no more,
--   the body that it has now. A new document had none, a deleted one has none.
-- One statement, so one snapshot: an image goes after its event does.
-- Plan: lookups by the primary keys, and the first of a range of IX_DocumentImage_Document, for each event.
SELECT wanted.change_version, wanted.document_id,
       CASE WHEN own.found THEN own.BodyBefore
            WHEN event.Operation = 'update' THEN CASE WHEN later.found THEN later.BodyBefore ELSE cache.DocumentJson END END AS body_before,
       CASE WHEN own.found THEN own.BodyAfter
            WHEN event.Operation IS NOT NULL THEN CASE WHEN later.found THEN later.BodyBefore ELSE cache.DocumentJson END END AS body_after
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (change_version bigint, document_id bigint)
LEFT JOIN LATERAL (
    SELECT Operation, ResourceKeyId FROM dms.DocumentChangeEvent
    WHERE ChangeVersion = wanted.change_version AND DocumentId = wanted.document_id OFFSET 0) AS event ON true
LEFT JOIN LATERAL (
    SELECT true AS found, ResourceKeyId FROM dms.DocumentDeleteEvent
    WHERE ChangeVersion = wanted.change_version AND DocumentId = wanted.document_id OFFSET 0) AS tombstone ON true
LEFT JOIN LATERAL (
    SELECT true AS found, BodyBefore, BodyAfter FROM dms.DocumentImage
    WHERE ChangeVersion = wanted.change_version AND DocumentId = wanted.document_id OFFSET 0) AS own ON true
LEFT JOIN LATERAL (
    SELECT true AS found, BodyBefore FROM dms.DocumentImage
    WHERE DocumentId = wanted.document_id AND ChangeVersion > wanted.change_version
    ORDER BY DocumentId, ChangeVersion LIMIT 1) AS later ON true
LEFT JOIN LATERAL (SELECT DocumentJson FROM dms.DocumentCache WHERE DocumentId = wanted.document_id OFFSET 0) AS cache ON true
WHERE wanted.change_version > (SELECT max(ChangeVersion) FROM dms.DocumentImageFloor)
  AND (event.Operation IS NOT NULL OR tombstone.found)
  AND NOT EXISTS (SELECT FROM dms.ImageExclusion AS excluded
                  WHERE excluded.ResourceKeyId = coalesce(event.ResourceKeyId, tombstone.ResourceKeyId))
ORDER BY wanted.change_version, wanted.document_id

-- sql/postgres/functions/bury_image.v1.sql: option images: each tombstone has an image, for the last body, which keep_image adds where there
-- was one: the foreign key has taken it away, and its trigger comes after this one. Without one in the cache it is what the last event left.
-- Where the body changed after the last event, what that event left is kept with it first: the tombstone's image no longer tells.
-- A document of a resource in ImageExclusion has none.
-- Fires: after delete on dms.Document, once a statement, after TR_Document_Delete: triggers of a kind fire by name.
CREATE FUNCTION dms.bury_image() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    this_transaction bigint := pg_current_xact_id()::text;
BEGIN
    INSERT INTO dms.DocumentImage (ChangeVersion, DocumentId, IsDelete, BodyBefore, BodyAfter)
    SELECT event.ChangeVersion, deleted.DocumentId, false, waiting.BodyBefore, waiting.BodyBefore
    FROM deleted
    CROSS JOIN LATERAL (
        SELECT BodyBefore FROM dms.DocumentImage
        WHERE DocumentId = deleted.DocumentId AND ChangeVersion = 9223372036854775807 OFFSET 0) AS waiting
    CROSS JOIN LATERAL (  -- unless it was pruned
        SELECT ChangeVersion FROM dms.DocumentChangeEvent
        WHERE ChangeVersion = greatest(deleted.ContentVersion, deleted.IdentityVersion) AND DocumentId = deleted.DocumentId OFFSET 0) AS event
    WHERE NOT EXISTS (SELECT FROM dms.ImageExclusion AS excluded WHERE excluded.ResourceKeyId = deleted.ResourceKeyId)
    ON CONFLICT (ChangeVersion, DocumentId) DO NOTHING;  -- it changed the body, and has an image
    INSERT INTO dms.DocumentImage (ChangeVersion, DocumentId, IsDelete, BodyBefore, BodyAfter)
    SELECT tombstone.ChangeVersion, deleted.DocumentId, true, waiting.BodyBefore, NULL
    FROM deleted
    CROSS JOIN LATERAL (
        SELECT ChangeVersion FROM dms.DocumentDeleteEvent
        WHERE DocumentUuid = deleted.DocumentUuid AND DocumentId = deleted.DocumentId
          AND dms.is_own_row(TransactionId, xmin, this_transaction)
        ORDER BY ChangeVersion DESC LIMIT 1) AS tombstone
    LEFT JOIN LATERAL (
        SELECT BodyBefore FROM dms.DocumentImage
        WHERE DocumentId = deleted.DocumentId AND ChangeVersion = 9223372036854775807 OFFSET 0) AS waiting ON true
    WHERE NOT EXISTS (SELECT FROM dms.ImageExclusion AS excluded WHERE excluded.ResourceKeyId = deleted.ResourceKeyId);
    DELETE FROM dms.DocumentImage AS image USING deleted
    WHERE image.DocumentId = deleted.DocumentId AND image.ChangeVersion = 9223372036854775807;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.bury_image() FROM PUBLIC;  -- else a temporary table with this trigger forges images
-- drop: DROP FUNCTION dms.bury_image();

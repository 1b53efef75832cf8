-- sql/postgres/functions/keep_image.v1.sql: option images: a body that changed is kept as it was and as it is, at the stamp that this
-- transaction gave its document; without one it waits for the document's next event, whoever stamps that (docs/how-it-works.md, Images).
-- Fires: after insert, update and delete on dms.DocumentCache, for each row whose body differs.
-- Whose stamp it is, the rows of the event, of the document and of the tombstone's image say (is_own_row.v1.sql), never a setting. Where the
-- event is not there, the statement that fires this has given the stamp (its events are journaled at its end), unless the event was
-- pruned. A document that is gone has its tombstone already, and an image there (bury_image).
-- Of a resource in ImageExclusion nothing is kept. The body of a document that is gone was buried with it, if anything of it is kept.
-- The row of the body is locked, so of two writers of one body the second sees the first one's image.
CREATE FUNCTION dms.keep_image() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER  -- writers have no right on the images
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$  -- right for one row and for a million: see stamp_parents.v1.sql
DECLARE
    the_document bigint := coalesce(NEW.DocumentId, OLD.DocumentId);
    body jsonb := OLD.DocumentJson;
    waiting jsonb;
    floor bigint := nullif(current_setting('dms.entered_at', true), '');  -- proves nothing; null: nothing was stamped, so nothing is looked up
    this_transaction bigint;
    has_exclusions boolean := EXISTS (SELECT FROM dms.ImageExclusion);
    stamp bigint;
BEGIN
    IF OLD.DocumentId <> NEW.DocumentId THEN
        RAISE EXCEPTION 'the body of document % cannot become that of document %', OLD.DocumentId, NEW.DocumentId
            USING ERRCODE = 'DJ002', HINT = 'Delete it and insert another.';
    END IF;
    IF has_exclusions AND EXISTS (
        SELECT FROM (SELECT ResourceKeyId FROM dms.Document WHERE DocumentId = the_document OFFSET 0) AS document
        JOIN dms.ImageExclusion AS exclusion ON exclusion.ResourceKeyId = document.ResourceKeyId) THEN
        RETURN NULL;
    END IF;
    IF floor IS NOT NULL THEN
        this_transaction := pg_current_xact_id()::text;
        IF TG_OP = 'DELETE' THEN
            UPDATE dms.DocumentImage SET BodyBefore = body
            WHERE DocumentId = the_document AND IsDelete AND ChangeVersion > floor
              AND dms.is_own_row(this_transaction, xmin, this_transaction)
              AND ChangeVersion = (SELECT ChangeVersion FROM dms.DocumentImage
                                   WHERE DocumentId = the_document AND ChangeVersion < 9223372036854775807
                                   ORDER BY DocumentId DESC, ChangeVersion DESC LIMIT 1)
              AND NOT EXISTS (SELECT FROM dms.Document WHERE DocumentId = the_document);
            IF FOUND OR has_exclusions AND NOT EXISTS (SELECT FROM dms.Document WHERE DocumentId = the_document) THEN
                RETURN NULL;
            END IF;
        END IF;
        SELECT stamped.version INTO stamp
        FROM (SELECT greatest(ContentVersion, IdentityVersion) AS version, xmin AS written_by FROM dms.Document
              WHERE DocumentId = the_document OFFSET 0) AS stamped
        LEFT JOIN LATERAL (SELECT CASE WHEN dms.is_own_row(TransactionId, xmin, this_transaction) THEN TransactionId ELSE 0 END AS TransactionId
                           FROM dms.DocumentChangeEvent
                           WHERE ChangeVersion = stamped.version AND DocumentId = the_document OFFSET 0) AS event ON true
        WHERE stamped.version > floor
          AND (event.TransactionId = this_transaction
               OR event.TransactionId IS NULL AND stamped.version > (
                   SELECT ChangeVersion FROM dms.JournalFloor WHERE Journal = 'DocumentChangeEvent')
                  AND dms.is_own_row(this_transaction, stamped.written_by, this_transaction));
    END IF;
    DELETE FROM dms.DocumentImage WHERE DocumentId = the_document AND ChangeVersion = 9223372036854775807 RETURNING BodyBefore INTO waiting;
    IF FOUND THEN
        body := waiting;  -- it did not change at any event since
    END IF;
    INSERT INTO dms.DocumentImage (ChangeVersion, DocumentId, IsDelete, BodyBefore, BodyAfter)
    VALUES (coalesce(stamp, 9223372036854775807), the_document, false, body, NEW.DocumentJson)
    ON CONFLICT (ChangeVersion, DocumentId) DO UPDATE SET BodyAfter = excluded.BodyAfter;  -- it changed at this stamp before
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.keep_image() FROM PUBLIC;  -- else a temporary table with this trigger forges images
-- drop: DROP FUNCTION dms.keep_image();

-- sql/postgres/functions/pair_image.v1.sql: option images: what waits for the document's next event has met it.
-- Fires: after update on dms.Document, for each row that was stamped. An inserted document has no body that could wait.
-- SKIP LOCKED: whoever changes the body at this moment has not committed, so its change comes after this event; nobody waits for it, who
-- holds a document that it may want.
CREATE FUNCTION dms.pair_image() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    UPDATE dms.DocumentImage SET ChangeVersion = greatest(NEW.ContentVersion, NEW.IdentityVersion)
    WHERE ctid = (SELECT ctid FROM dms.DocumentImage WHERE DocumentId = NEW.DocumentId AND ChangeVersion = 9223372036854775807
                  FOR UPDATE SKIP LOCKED);
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.pair_image() FROM PUBLIC;  -- else a temporary table with this trigger moves images
-- drop: DROP FUNCTION dms.pair_image();

-- sql/postgres/functions/journal_identity.v1.sql: an identity event for an identity stamp given by an update (invariant 2), and a
-- key change where the key values differ.
-- Fires: after update on dms.Document, for each row whose IdentityVersion changed (the trigger's WHEN: content changes pay nothing).
-- By row, since old and new values are needed together, and a kept join of the two transition tables can be hurt.
CREATE FUNCTION dms.journal_identity() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER  -- writers have no right on the journals
SET search_path = pg_catalog, pg_temp SET row_security = off AS $$  -- fixed: a restore empties it (acceptance 58), a caller may poison it
BEGIN
    INSERT INTO dms.IdentityChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, CreatedAt)
    VALUES (NEW.IdentityVersion, NEW.DocumentId, NEW.ResourceKeyId, NEW.IdentityLastModifiedAt);
    IF NEW.KeyValues IS DISTINCT FROM OLD.KeyValues THEN
        INSERT INTO dms.KeyChangeEvent (ChangeVersion, DocumentId, DocumentUuid, ResourceKeyId, OldKeyValues, NewKeyValues, CreatedAt)
        VALUES (NEW.IdentityVersion, NEW.DocumentId, NEW.DocumentUuid, NEW.ResourceKeyId, OLD.KeyValues, NEW.KeyValues,
                NEW.IdentityLastModifiedAt);
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.journal_identity() FROM PUBLIC;  -- else a temporary table with this trigger forges rows
-- drop: DROP FUNCTION dms.journal_identity();

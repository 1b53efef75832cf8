-- sql/postgres/functions/note_identity.v1.sql: option max_dep_identity_version: an identity changed, so parents are to be raised when the
-- transaction commits (raise_pending). Fires: after update on dms.Document, for each row whose IdentityVersion changed.
CREATE FUNCTION dms.note_identity() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
BEGIN
    INSERT INTO dms.MaxDepIdentityPending (DocumentId, IsFill) VALUES (NEW.DocumentId, false);
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.note_identity() FROM PUBLIC;  -- else a temporary table with this trigger forges rows
-- drop: DROP FUNCTION dms.note_identity();

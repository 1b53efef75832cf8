-- sql/postgres/functions/stamp_insert.v1.sql: a new document's one stamp, for content and identity (invariant 1), whatever the caller
-- supplies. Fires: before insert on dms.Document, each row, after enter_statement.
-- Costs are per row: no SET clause, nothing of ours is called, and so every name is qualified; see stamp_update.v1.sql.
CREATE FUNCTION dms.stamp_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$  -- writers need no right on the sequence
BEGIN
    NEW.ContentVersion := pg_catalog.nextval('dms.changeversionsequence');
    NEW.IdentityVersion := NEW.ContentVersion;
    NEW.ContentLastModifiedAt := pg_catalog.clock_timestamp();
    NEW.IdentityLastModifiedAt := NEW.ContentLastModifiedAt;
    NEW.CreatedAt := NEW.ContentLastModifiedAt;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION dms.stamp_insert() FROM PUBLIC;
-- drop: DROP FUNCTION dms.stamp_insert();

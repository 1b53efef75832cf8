-- sql/postgres/functions/keep_parent_resource.v1.sql: an edge carries its parent's resource and the time at which it came,
-- whatever a caller writes.
-- Fires: before insert on dms.ReferenceEdge, and before an update of the parent or its resource, each row. A document's resource
-- never changes (stamp_update); locked, as the foreign key will lock it anyway, it cannot be replaced by one of another resource either.
-- Without the parent the foreign key speaks: 0 is no resource.
CREATE FUNCTION dms.keep_parent_resource() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off AS $$  -- the kept plan of a session that began with an empty table must not scan it when it is full
BEGIN
    NEW.ParentResourceKeyId := coalesce(
        (SELECT ResourceKeyId FROM dms.Document WHERE DocumentId = NEW.ParentDocumentId FOR KEY SHARE), 0);
    NEW.CreatedAt := CASE TG_OP WHEN 'INSERT' THEN clock_timestamp() ELSE OLD.CreatedAt END;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION dms.keep_parent_resource() FROM PUBLIC;  -- else a temporary table with this trigger forges rows
-- drop: DROP FUNCTION dms.keep_parent_resource();

-- sql/postgres/functions/keep_parent_resource.v1.sql: an edge carries its parent's resource and the time at which it came,
-- whatever a caller writes.
-- Fires: before insert on dms.ReferenceEdge, and before an update of the parent or its resource, each row.
-- A caller that writes the resource saves the lookup. stamp_parents.v1.sql looks at it once a statement, and mends another one.
-- Costs are per row: no SET clause, and so every name is qualified; see stamp_update.v1.sql.
CREATE FUNCTION dms.keep_parent_resource() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$  -- writers need no right on parent_resource
BEGIN
    IF TG_OP OPERATOR(pg_catalog.=) 'INSERT' THEN
        NEW.CreatedAt := pg_catalog.clock_timestamp();
        IF NEW.ParentResourceKeyId OPERATOR(pg_catalog.>) 0 THEN
            RETURN NEW;
        END IF;
    ELSE
        NEW.CreatedAt := OLD.CreatedAt;
    END IF;
    NEW.ParentResourceKeyId := dms.parent_resource(NEW.ParentDocumentId);
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION dms.keep_parent_resource() FROM PUBLIC;  -- else a temporary table with this trigger forges rows
-- drop: DROP FUNCTION dms.keep_parent_resource();

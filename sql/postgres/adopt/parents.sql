-- sql/postgres/adopt/parents.sql: until the journal's own trigger is there (functions/keep_parent_resource.v1.sql), this one keeps
-- ParentResourceKeyId. Fires: before insert and update on dms.ReferenceEdge, each row.
CREATE OR REPLACE FUNCTION dms.adopt_parent_resource() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.ParentResourceKeyId := coalesce(
        (SELECT ResourceKeyId FROM dms.Document WHERE DocumentId = NEW.ParentDocumentId FOR KEY SHARE), 0);
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION dms.adopt_parent_resource() FROM PUBLIC;
COMMENT ON FUNCTION dms.adopt_parent_resource() IS 'dmsjournal: keeps ParentResourceKeyId while an adoption is on its way';
CREATE TRIGGER ZZ_ReferenceEdge_Adoption BEFORE INSERT OR UPDATE ON dms.ReferenceEdge
    FOR EACH ROW EXECUTE FUNCTION dms.adopt_parent_resource();

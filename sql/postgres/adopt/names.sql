-- sql/postgres/adopt/names.sql: programs that know a document's resource by its three names go on writing them; the id follows, and is
-- added where the resource is new. Who writes the id alone, as our writer does, gets the names, so that NOT NULL on them hurts nobody.
-- Fires: before insert and update on dms.Document, each row, before the stamping triggers (ZZ), which refuse that a document changes its
-- resource. A resource that two sessions add at once is one: the second waits, and takes the first one's id.
CREATE OR REPLACE FUNCTION dms.keep_resource_names() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER  -- writers need no right on dms.ResourceKey
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    renamed boolean := TG_OP = 'UPDATE';
BEGIN
    IF renamed THEN
        renamed := (NEW.ProjectName, NEW.ResourceName, NEW.ResourceVersion)
            IS DISTINCT FROM (OLD.ProjectName, OLD.ResourceName, OLD.ResourceVersion);
    END IF;
    IF NEW.ResourceKeyId IS NULL OR (renamed AND NEW.ResourceKeyId = OLD.ResourceKeyId) THEN
        NEW.ResourceKeyId := (
            SELECT ResourceKeyId FROM dms.ResourceKey
            WHERE ProjectName = NEW.ProjectName AND ResourceName = NEW.ResourceName AND ResourceVersion = NEW.ResourceVersion);
        IF NEW.ResourceKeyId IS NULL AND NEW.ProjectName IS NOT NULL THEN
            INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion)
            VALUES (NEW.ProjectName, NEW.ResourceName, NEW.ResourceVersion)
            ON CONFLICT (ProjectName, ResourceName, ResourceVersion) DO UPDATE SET ProjectName = excluded.ProjectName
            RETURNING ResourceKeyId INTO NEW.ResourceKeyId;
        END IF;
    ELSIF NEW.ProjectName IS NULL THEN
        SELECT ProjectName, ResourceName, ResourceVersion INTO NEW.ProjectName, NEW.ResourceName, NEW.ResourceVersion
        FROM dms.ResourceKey WHERE ResourceKeyId = NEW.ResourceKeyId;
    END IF;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION dms.keep_resource_names() FROM PUBLIC;  -- else a temporary table with this trigger adds resources
COMMENT ON FUNCTION dms.keep_resource_names() IS 'dmsjournal: names for ids, of an adoption';
CREATE TRIGGER TR_Document_Names BEFORE INSERT OR UPDATE ON dms.Document
    FOR EACH ROW EXECUTE FUNCTION dms.keep_resource_names();

-- sql/postgres/adopt/values.sql: until the stamping triggers are there, a program may write NULL where it has no version yet, as it may
-- afterwards. Fires: before insert and update on dms.Document, each row.
CREATE OR REPLACE FUNCTION dms.adopt_document_values() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.ContentVersion := coalesce(NEW.ContentVersion, 0);
    NEW.IdentityVersion := coalesce(NEW.IdentityVersion, 0);
    NEW.ContentLastModifiedAt := coalesce(NEW.ContentLastModifiedAt, clock_timestamp());
    NEW.IdentityLastModifiedAt := coalesce(NEW.IdentityLastModifiedAt, clock_timestamp());
    NEW.CreatedAt := coalesce(NEW.CreatedAt, clock_timestamp());
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION dms.adopt_document_values() FROM PUBLIC;
COMMENT ON FUNCTION dms.adopt_document_values() IS 'dmsjournal: values for nulls while an adoption is on its way';
CREATE TRIGGER TR_Document_Adoption BEFORE INSERT OR UPDATE ON dms.Document
    FOR EACH ROW EXECUTE FUNCTION dms.adopt_document_values();

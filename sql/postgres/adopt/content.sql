-- sql/postgres/adopt/content.sql: a change of columns that the journal does not know signals changed content. Their names, a JSON array,
-- are in the setting dms.content_columns. Their images are compared: not every type has an equality, and text follows the writer's settings,
-- such as extra_float_digits. 0 is the signal: where no stamping trigger follows, it says that the document has no stamp.
-- Fires: before update on dms.Document, each row in which one of them changes, before the stamping triggers (ZZ).
CREATE OR REPLACE FUNCTION dms.signal_content() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    NEW.ContentVersion := 0;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION dms.signal_content() FROM PUBLIC;
COMMENT ON FUNCTION dms.signal_content() IS 'dmsjournal: content in columns of other programs, of an adoption';
DO $$
BEGIN
    EXECUTE (
        SELECT format('CREATE OR REPLACE TRIGGER TR_Document_Content BEFORE UPDATE ON dms.Document FOR EACH ROW'
                      ' WHEN (pg_catalog.record_image_ne(ROW(%s), ROW(%s))) EXECUTE FUNCTION dms.signal_content()',
                      string_agg(format('OLD.%I', named.name), ', '), string_agg(format('NEW.%I', named.name), ', '))
        FROM jsonb_array_elements_text(current_setting('dms.content_columns')::jsonb)
        CROSS JOIN LATERAL (SELECT attname AS name FROM pg_attribute
                            WHERE attrelid = 'dms.Document'::regclass AND NOT attisdropped AND attname IN (value, lower(value))
                            ORDER BY attname = value DESC LIMIT 1) AS named);
END $$;

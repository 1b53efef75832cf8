-- sql/postgres/adopting/content.sql: a change of columns that the journal does not know signals changed content. Their names, a JSON array,
-- are in the setting dms.content_columns. 0 is the signal: where no stamping trigger follows, it says that the document has no stamp.
-- Fires: before update on dms.Document, each row in which one of them changes, before the stamping triggers (ZZ).
CREATE OR REPLACE FUNCTION dms.signal_content() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    NEW.ContentVersion := 0;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION dms.signal_content() IS 'dmsjournal: content in columns of other programs, of an adoption';
DO $$
BEGIN
    EXECUTE 'CREATE OR REPLACE TRIGGER TR_Document_Content BEFORE UPDATE ON dms.Document FOR EACH ROW WHEN ('
        || (SELECT string_agg(format('OLD.%1$I::text IS DISTINCT FROM NEW.%1$I::text', named.name), ' OR ')
            FROM jsonb_array_elements_text(current_setting('dms.content_columns')::jsonb)
            CROSS JOIN LATERAL (SELECT attname AS name FROM pg_attribute
                                WHERE attrelid = 'dms.Document'::regclass AND NOT attisdropped AND attname IN (value, lower(value))
                                ORDER BY attname = value DESC LIMIT 1) AS named)
        || ') EXECUTE FUNCTION dms.signal_content()';
END $$;

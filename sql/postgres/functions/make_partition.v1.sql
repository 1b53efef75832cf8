-- sql/postgres/functions/make_partition.v1.sql: option partitions: makes a table that a journal can take as a partition: its columns, its
-- indexes, its owner, and the trigger that refuses TRUNCATE. What a DBA has set for the journal's rest (autovacuum) holds for it too.
CREATE FUNCTION dms.make_partition(journal text, table_name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    parent regclass := 'dms.' || journal;
    settings text := (SELECT array_to_string(c.reloptions, ', ') FROM pg_class AS c WHERE c.oid = to_regclass('dms.' || journal || '_default'));
BEGIN
    EXECUTE format('CREATE TABLE dms.%I (LIKE %s INCLUDING DEFAULTS INCLUDING COMMENTS INCLUDING STORAGE INCLUDING INDEXES)', table_name, parent);
    EXECUTE format('ALTER TABLE dms.%I OWNER TO %s', table_name, (SELECT c.relowner::regrole FROM pg_class AS c WHERE c.oid = parent));
    IF settings IS NOT NULL THEN
        EXECUTE format('ALTER TABLE dms.%I SET (%s)', table_name, settings);
    END IF;
    EXECUTE format('COMMENT ON TABLE dms.%I IS %L', table_name, 'dmsjournal: a part of ' || journal);
    EXECUTE format('CREATE TRIGGER TR_%s_Truncate BEFORE TRUNCATE ON dms.%I FOR EACH STATEMENT EXECUTE FUNCTION dms.refuse_truncate()',
                   journal, table_name);
END $$;
REVOKE EXECUTE ON FUNCTION dms.make_partition(text, text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.make_partition(text, text);

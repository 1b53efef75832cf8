-- sql/postgres/functions/rename_partition.v1.sql: option partitions: gives a table of a journal another name, and its indexes names after it.
CREATE FUNCTION dms.rename_partition(old_name text, new_name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    index_name text;
    ordinal integer := 0;
BEGIN
    EXECUTE format('ALTER TABLE dms.%I RENAME TO %I', old_name, new_name);
    FOR index_name IN
        SELECT i.relname FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid
        WHERE x.indrelid = format('dms.%I', new_name)::regclass ORDER BY x.indexrelid
    LOOP
        ordinal := ordinal + 1;
        EXECUTE format('ALTER INDEX dms.%I RENAME TO %I', index_name, new_name || '_' || ordinal);  -- a key's constraint goes with it
    END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION dms.rename_partition(text, text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.rename_partition(text, text);

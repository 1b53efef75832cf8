-- sql/postgres/functions/fill_table.v1.sql: a whole fill in one transaction, for small tables and migrations. Gives how many documents it made.
CREATE FUNCTION dms.fill_table(table_name text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    all_made bigint := 0;
    batch    record;
BEGIN
    LOOP
        SELECT f.made INTO batch FROM dms.fill_tracked(table_name, 1024) AS f;
        EXIT WHEN NOT FOUND;
        all_made := all_made + batch.made;
    END LOOP;
    RETURN all_made;
END $$;
REVOKE EXECUTE ON FUNCTION dms.fill_table(text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.fill_table(text);

-- sql/postgres/functions/renamed_columns.v1.sql: columns that were named once, as a table has them now: by name, else by number; one that is gone is left out.
CREATE FUNCTION dms.renamed_columns(columns name[], known jsonb, relation oid) RETURNS name[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN columns IS NOT NULL THEN ARRAY(
        SELECT coalesce(
            (SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attname = c.name AND a.attnum > 0 AND NOT a.attisdropped),
            (SELECT a.attname FROM jsonb_array_elements(known) AS k JOIN pg_attribute AS a ON a.attnum = CAST(k.value ->> 0 AS smallint)
             WHERE k.value ->> 1 = c.name AND a.attrelid = relation AND NOT a.attisdropped))
        FROM unnest(columns) WITH ORDINALITY AS c (name, place)
        WHERE EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attname = c.name AND a.attnum > 0 AND NOT a.attisdropped)
           OR EXISTS (SELECT FROM jsonb_array_elements(known) AS k JOIN pg_attribute AS a ON a.attnum = CAST(k.value ->> 0 AS smallint)
                      WHERE k.value ->> 1 = c.name AND a.attrelid = relation AND NOT a.attisdropped)
        ORDER BY c.place) END
$$;
REVOKE EXECUTE ON FUNCTION dms.renamed_columns(name[], jsonb, oid) FROM PUBLIC;
-- drop: DROP FUNCTION dms.renamed_columns(name[], jsonb, oid);

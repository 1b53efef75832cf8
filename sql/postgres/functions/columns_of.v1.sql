-- sql/postgres/functions/columns_of.v1.sql: a list of columns as SQL, each quoted and with an alias (which is SQL as it is) before it.
CREATE FUNCTION dms.columns_of(columns name[], alias text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT string_agg(format('%s.%I', alias, c.name), ', ' ORDER BY c.place) FROM unnest(columns) WITH ORDINALITY AS c (name, place)
$$;
REVOKE EXECUTE ON FUNCTION dms.columns_of(name[], text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.columns_of(name[], text);

-- sql/postgres/functions/tracked_columns.v1.sql: the columns of a table, as JSON: number, name and type of each, and the labels of an enum. make_tracking
-- adds the name in KeyValues where it keeps them.
CREATE FUNCTION dms.tracked_columns(relation oid) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_array(a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
               (SELECT jsonb_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum AS e WHERE e.enumtypid = dms.tracked_base_type(a.atttypid))) ORDER BY a.attnum), '[]')
    FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_columns(oid) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_columns(oid);

-- sql/postgres/functions/tracked_key_json.v1.sql: the SQL expression that makes the key values of a row, whose columns an alias has.
CREATE FUNCTION dms.tracked_key_json(tracked_id smallint, alias text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('jsonb_build_object(%s)', string_agg(format('%L, %s', k.property, dms.tracked_json(k.type_id, format('%s.%I', alias, k.name))), ', ' ORDER BY k.place))
    FROM dms.tracked_key(tracked_id) AS k
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_key_json(smallint, text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_key_json(smallint, text);

-- sql/postgres/functions/tracked_typed.v1.sql: the SQL expression that makes a value of a key's type of the JSON that tracked_json made of it.
-- format_type(…, -1): a type without a length, since CAST(… AS character) cuts to one character.
-- `source` gives jsonb, `property` is the name in it. Types of others go through their input function (jsonb_to_record), never through a cast. Of an enum,
-- the value is looked for: a label that was renamed meanwhile is null, no error.
CREATE FUNCTION dms.tracked_typed(type_id oid, source text, property text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    base oid := dms.tracked_base_type(type_id);
BEGIN
    RETURN CASE
        WHEN base = 'bytea'::regtype THEN format('decode(%s ->> %L, ''base64'')', source, property)
        WHEN base < 16384 THEN format('CAST(%s ->> %L AS %s)', source, property, format_type(base, -1))
        WHEN (SELECT y.typtype = 'e' FROM pg_type AS y WHERE y.oid = base)
            THEN format('(SELECT e.v FROM unnest(enum_range(CAST(NULL AS %s))) AS e (v) WHERE format(''%%s'', e.v) = %s ->> %L)', format_type(base, -1), source, property)
        ELSE format('(SELECT typed.v FROM jsonb_to_record(jsonb_build_object(''v'', %s -> %L)) AS typed (v %s))', source, property, format_type(base, -1))
    END;
END $$;
REVOKE EXECUTE ON FUNCTION dms.tracked_typed(oid, text, text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_typed(oid, text, text);

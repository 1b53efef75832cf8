-- sql/postgres/functions/tracked_json.v1.sql: the SQL expression that makes JSON of an expression of a type, the same in every session
-- whose settings are those of the generated functions (tracking_of.v1.sql).
-- What the server's own types look like as JSON is theirs. Of every other type the output function speaks, through format(): to_jsonb would
-- call a cast to json, which the type's owner may have written.
CREATE FUNCTION dms.tracked_json(type_id oid, expression text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    base oid := dms.tracked_base_type(type_id);
    element oid := (SELECT dms.tracked_base_type(t.typelem) FROM pg_type AS t WHERE t.oid = base AND t.typelem <> 0 AND t.typsubscript = 'array_subscript_handler'::regproc);
BEGIN
    RETURN CASE
        WHEN base = 'bytea'::regtype THEN format('translate(encode(CAST(%s AS bytea), ''base64''), chr(10), '''')', expression)
        WHEN base = ANY (ARRAY['text', 'varchar', 'bpchar', 'name', '"char"']::regtype[]) THEN format('CAST(%s AS text)', expression)
        WHEN base = ANY (ARRAY['bool', 'int2', 'int4', 'int8', 'numeric', 'float4', 'float8', 'date', 'timestamp', 'timestamptz', 'json', 'jsonb']::regtype[])
            THEN format('CAST(%s AS %s)', expression, format_type(base, NULL))
        WHEN element = ANY (ARRAY['bool', 'int2', 'int4', 'int8', 'numeric', 'float4', 'float8', 'text', 'varchar', 'date', 'timestamp', 'timestamptz', 'uuid',
                                  'json', 'jsonb']::regtype[])
            THEN format('to_jsonb(CAST(%s AS %s))', expression, format_type(base, NULL))
        WHEN element IS NOT NULL AND base <> ALL (ARRAY['int2vector', 'oidvector']::regtype[])
            THEN format('CASE WHEN %1$s IS NOT NULL THEN to_jsonb(CAST(format(''%%s'', %1$s) AS text[])) END', expression)
        ELSE format('CASE WHEN %1$s IS NOT NULL THEN format(''%%s'', %1$s) END', expression)
    END;
END $$;
REVOKE EXECUTE ON FUNCTION dms.tracked_json(oid, text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_json(oid, text);

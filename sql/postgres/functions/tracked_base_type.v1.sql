-- sql/postgres/functions/tracked_base_type.v1.sql: the type below a domain, or the type itself. A domain's checks run its owner's functions.
CREATE FUNCTION dms.tracked_base_type(type_id oid) RETURNS oid
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE below AS (
        SELECT t.oid, t.typtype, t.typbasetype FROM pg_type AS t WHERE t.oid = type_id
        UNION ALL
        SELECT t.oid, t.typtype, t.typbasetype FROM below AS b JOIN pg_type AS t ON t.oid = b.typbasetype WHERE b.typtype = 'd'
    )
    SELECT b.oid FROM below AS b WHERE b.typtype <> 'd'
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_base_type(oid) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_base_type(oid);

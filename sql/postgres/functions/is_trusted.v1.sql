-- sql/postgres/functions/is_trusted.v1.sql: whether a tracked table runs code of no role that track was not told to trust (tracked_owners.v1.sql).
CREATE FUNCTION dms.is_trusted(tracked_id smallint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT NOT EXISTS (SELECT FROM dms.TrackedTable AS t CROSS JOIN LATERAL dms.tracked_owners(dms.tracked_relation(t.TrackedTableId)) AS o
                       WHERE t.TrackedTableId = tracked_id AND o.role <> ALL (t.TrustedRoles))
$$;
REVOKE EXECUTE ON FUNCTION dms.is_trusted(smallint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.is_trusted(smallint);

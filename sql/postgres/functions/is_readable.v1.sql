-- sql/postgres/functions/is_readable.v1.sql: whether the installing role may read a tracked table whole, and runs no code of a role that is not trusted
-- (is_trusted.v1.sql): verify looks at the rows of such a table alone, and names the others (check_tracking.v1.sql).
CREATE FUNCTION dms.is_readable(tracked_id smallint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT dms.is_trusted(tracked_id) AND NOT EXISTS (
        SELECT FROM dms.TrackedTable AS t CROSS JOIN LATERAL dms.untrackable(dms.tracked_relation(t.TrackedTableId), t.KeyName) AS u WHERE t.TrackedTableId = tracked_id)
$$;
REVOKE EXECUTE ON FUNCTION dms.is_readable(smallint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.is_readable(smallint);

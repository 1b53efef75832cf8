-- sql/postgres/functions/tracked_bodies.v1.sql: the rows of tracked tables as JSON, as they are now, by the ids of their documents. It runs with its caller's
-- rights: who reads bodies needs SELECT on the tables.
CREATE FUNCTION dms.tracked_bodies(ids bigint[]) RETURNS TABLE (DocumentId bigint, Body jsonb)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET row_security = off
SET TimeZone = 'UTC' SET DateStyle = 'ISO, YMD' SET IntervalStyle = 'postgres' SET extra_float_digits = 1 SET bytea_output = 'hex' SET lc_monetary = 'C' SET array_nulls = on AS $$
DECLARE
    tracked smallint;
    query   text;
BEGIN
    FOR tracked IN
        SELECT t.TrackedTableId FROM dms.TrackedTable AS t
        WHERE t.ResourceKeyId IN (SELECT d.ResourceKeyId FROM dms.Document AS d WHERE d.DocumentId = ANY (ids)) ORDER BY 1
    LOOP
        query := dms.tracked_body_query(tracked);
        IF query IS NULL THEN
            RAISE EXCEPTION 'bodies of table % cannot be read: it was dropped or replaced, or belongs to another role since', (
                SELECT t.TableName FROM dms.TrackedTable AS t WHERE t.TrackedTableId = tracked)
                USING ERRCODE = 'DJ004', HINT = 'dmsjournal tracked says what is wrong with it; then run dmsjournal track --renew, or dmsjournal untrack.';
        END IF;
        RETURN QUERY EXECUTE query USING ids;
    END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION dms.tracked_bodies(bigint[]) FROM PUBLIC;
DO $do$
DECLARE
    granted record;
BEGIN
    FOR granted IN  -- who reads the documents may list and check tracked tables, and ask for bodies
        SELECT DISTINCT CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END AS role
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS acl
        WHERE c.oid = 'dms.DocumentCache'::regclass AND acl.privilege_type = 'SELECT' AND acl.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION dms.tracked_bodies(bigint[]), dms.tracked_body_query(smallint), dms.tracked_source(smallint[], text), dms.tracked_tables(), dms.check_tracking(), '
                       'dms.check_tracked_rows(text, bigint, bigint), dms.check_tracked_documents(text, bigint) TO %s', granted.role);
    END LOOP;
END $do$;
-- drop: DROP FUNCTION dms.tracked_bodies(bigint[]);

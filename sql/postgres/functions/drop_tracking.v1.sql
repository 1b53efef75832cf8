-- sql/postgres/functions/drop_tracking.v1.sql: drops the functions of a tracked table, with the triggers that call them, and its view; its
-- documents stay. A trigger is dropped by its table's owner alone, or with its function.
CREATE FUNCTION dms.drop_tracking(tracked_id smallint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off SET client_min_messages = warning AS $$
DECLARE
    object record;
BEGIN
    FOR object IN
        SELECT p.oid::regprocedure::text AS signature, CASE WHEN p.prorettype = 'trigger'::regtype THEN ' CASCADE' ELSE '' END AS also FROM pg_proc AS p
        WHERE p.pronamespace = 'dms'::regnamespace AND p.proname ~ ('^tracked_' || tracked_id || '_[a-z]+$')
    LOOP
        EXECUTE format('DROP FUNCTION %s%s', object.signature, object.also);
    END LOOP;
    EXECUTE format('DROP VIEW IF EXISTS dms.%I', 'tracked_' || tracked_id);
END $$;
REVOKE EXECUTE ON FUNCTION dms.drop_tracking(smallint) FROM PUBLIC;
-- drop: DO $do$ BEGIN PERFORM dms.drop_tracking(t.TrackedTableId) FROM dms.TrackedTable AS t; END $do$;
-- drop: DROP FUNCTION dms.drop_tracking(smallint);

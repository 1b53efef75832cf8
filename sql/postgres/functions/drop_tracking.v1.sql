-- sql/postgres/functions/drop_tracking.v1.sql: drops the triggers, functions and view of a tracked table; its documents stay.
CREATE FUNCTION dms.drop_tracking(tracked_id smallint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    object record;
BEGIN
    FOR object IN
        SELECT t.tgname, format('%I.%I', n.nspname, c.relname) AS target
        FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
        JOIN pg_proc AS p ON p.oid = t.tgfoid AND p.pronamespace = 'dms'::regnamespace
        WHERE p.proname ~ ('^tracked_' || tracked_id || '_[a-z]+$') AND t.tgparentid = 0
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', object.tgname, object.target);
    END LOOP;
    FOR object IN
        SELECT p.oid::regprocedure::text AS signature FROM pg_proc AS p
        WHERE p.pronamespace = 'dms'::regnamespace AND p.proname ~ ('^tracked_' || tracked_id || '_[a-z]+$')
    LOOP
        EXECUTE format('DROP FUNCTION %s', object.signature);
    END LOOP;
    EXECUTE format('DROP VIEW IF EXISTS dms.%I', 'tracked_' || tracked_id);
END $$;
REVOKE EXECUTE ON FUNCTION dms.drop_tracking(smallint) FROM PUBLIC;
-- drop: DO $do$ BEGIN PERFORM dms.drop_tracking(t.TrackedTableId) FROM dms.TrackedTable AS t; END $do$;
-- drop: DROP FUNCTION dms.drop_tracking(smallint);

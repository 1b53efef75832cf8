-- sql/postgres/functions/make_all_tracking.v1.sql: make_tracking of several tables, whose writers are waited for up to lock_timeout in all. A wait for one lock is
-- short, and ends with all locks given back: a writer of two of the tables is not the victim of a deadlock (deadlock_timeout, 1 s). untracked: a table whose
-- tracking is dropped before, under the same rule.
CREATE FUNCTION dms.make_all_tracking(tracked_ids smallint[], untracked smallint DEFAULT NULL::smallint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET row_security = off AS $$
DECLARE
    given   CONSTANT text := current_setting('lock_timeout');
    ends_at CONSTANT timestamptz := clock_timestamp() + CAST(given AS interval);
    one     smallint;
BEGIN
    LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '400ms', true) WHERE CAST(given AS interval) > interval '400ms';
            IF untracked IS NOT NULL THEN
                PERFORM dms.drop_tracking(untracked);
                DELETE FROM dms.TrackedTable AS t WHERE t.TrackedTableId = untracked;
            END IF;
            FOREACH one IN ARRAY tracked_ids LOOP
                PERFORM dms.make_tracking(one);
            END LOOP;
            PERFORM set_config('lock_timeout', given, true);
            RETURN;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            IF clock_timestamp() >= ends_at THEN
                RAISE;
            END IF;
        END;
        PERFORM pg_sleep(0.1);  -- who waited for the locks goes on
    END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION dms.make_all_tracking(smallint[], smallint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.make_all_tracking(smallint[], smallint);

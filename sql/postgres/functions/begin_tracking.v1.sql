-- sql/postgres/functions/begin_tracking.v1.sql: what track, renew and untrack begin with: the installing role alone calls them, one at a time, and no
-- lock is waited for longer than the session's lock_timeout, 5 s where it has none. The setting ends with the transaction.
CREATE FUNCTION dms.begin_tracking() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    installer name := (SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace AS n WHERE n.nspname = 'dms');
BEGIN
    IF current_user <> installer THEN
        RAISE EXCEPTION 'role % may not track tables: what track makes runs with the rights of role %, which owns schema dms', current_user, installer
            USING ERRCODE = 'insufficient_privilege', HINT = format('Connect as role %I, or SET ROLE %I first.', installer, installer);
    END IF;
    IF current_setting('lock_timeout') = '0' THEN
        PERFORM set_config('lock_timeout', '5s', true);
    END IF;
    LOCK TABLE dms.TrackedTable IN SHARE ROW EXCLUSIVE MODE;
END $$;
REVOKE EXECUTE ON FUNCTION dms.begin_tracking() FROM PUBLIC;
-- drop: DROP FUNCTION dms.begin_tracking();

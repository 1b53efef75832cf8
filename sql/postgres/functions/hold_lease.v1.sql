-- sql/postgres/functions/hold_lease.v1.sql: renews a lease that is held under the token; takes one that is free or has expired, if `taking`; gives
-- one back, if `seconds` is 0. Gives one row: is_ours, is_busy (the holder's transaction is running), and of the other holder: in words,
-- when its lease ends, and in how many seconds. Waits only for a transaction of the same token, and for one that takes the lease.
-- The row stays locked until the caller's transaction ends. So what that transaction writes is written while the lease is the caller's.
-- A role that may delete the journal's events takes any lease. Another role takes the lease of a consumer that is its own (keep_consumer), or
-- that no role has registered.
CREATE FUNCTION dms.hold_lease(lease_name text, lease_token uuid, lease_process text, seconds integer, taking boolean)
RETURNS TABLE (is_ours boolean, is_busy boolean, holder text, expires_at timestamp with time zone, ends_in double precision)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    caller    name := coalesce(nullif(current_setting('role'), 'none'), session_user);
    consumer  text := substr(lease_name, length('consumer ') + 1);
    belongs   text := (SELECT c.Owner FROM dms.ChangeConsumer AS c WHERE c.Name = consumer);
BEGIN
    IF seconds NOT BETWEEN 0 AND 300 THEN
        RAISE EXCEPTION 'a lease of % seconds', seconds USING ERRCODE = 'DJ002', HINT = 'ask for 0 to 300 seconds';
    END IF;
    IF NOT has_table_privilege(caller, 'dms.documentchangeevent', 'DELETE') THEN
        IF NOT starts_with(lease_name, 'consumer ') THEN
            RAISE EXCEPTION 'role % may not prune', caller
                USING ERRCODE = 'insufficient_privilege', HINT = 'act as a role that may prune (docs/dba/roles.md)';
        END IF;
        IF belongs IS NOT NULL AND NOT coalesce(pg_has_role(caller, to_regrole(quote_ident(belongs)), 'USAGE'), false) THEN
            RAISE EXCEPTION 'consumer % belongs to role %, not to %', consumer, belongs, caller
                USING ERRCODE = 'insufficient_privilege',
                      HINT = 'use another name, or act as its owner, a member of it, or a role that may prune (docs/dba/roles.md)';
        END IF;
    END IF;
    IF seconds = 0 THEN
        DELETE FROM dms.Lease AS l WHERE l.Name = lease_name AND l.Token = lease_token;
        RETURN QUERY SELECT false, false, NULL::text, NULL::timestamptz, NULL::float8;
        RETURN;
    END IF;
    UPDATE dms.Lease AS l SET ExpiresAt = clock_timestamp() + make_interval(secs => seconds)
    WHERE l.Name = lease_name AND l.Token = lease_token;
    IF NOT FOUND AND taking THEN
        UPDATE dms.Lease AS l
        SET Token = lease_token, Process = lease_process, Owner = caller,
            TakenAt = clock_timestamp(), ExpiresAt = clock_timestamp() + make_interval(secs => seconds)
        FROM (SELECT free.Name FROM dms.Lease AS free
              WHERE free.Name = lease_name AND free.ExpiresAt <= clock_timestamp() FOR UPDATE SKIP LOCKED) AS expired
        WHERE l.Name = expired.Name;
        IF NOT FOUND AND NOT EXISTS (SELECT FROM dms.Lease AS l WHERE l.Name = lease_name) THEN  -- an insert would wait for a batch
            INSERT INTO dms.Lease AS l (Name, Token, Process, Owner, TakenAt, ExpiresAt)
            VALUES (lease_name, lease_token, lease_process, caller, clock_timestamp(), clock_timestamp() + make_interval(secs => seconds))
            ON CONFLICT (Name) DO NOTHING;
        END IF;
    END IF;
    is_ours := FOUND;
    RETURN QUERY
    SELECT is_ours, l.ExpiresAt <= clock_timestamp() AND NOT is_ours,
           concat('role ', l.Owner, ', ', l.Process, ', since ', to_char(l.TakenAt AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), ' UTC'),
           l.ExpiresAt, greatest(0, extract(epoch FROM l.ExpiresAt - clock_timestamp()))::float8
    FROM (SELECT) AS one LEFT JOIN dms.Lease AS l ON l.Name = lease_name;
END $$;
REVOKE EXECUTE ON FUNCTION dms.hold_lease(text, uuid, text, integer, boolean) FROM PUBLIC;
-- drop: DROP FUNCTION dms.hold_lease(text, uuid, text, integer, boolean);

-- sql/postgres/functions/check_trusted.v1.sql: refuses a table whose rows the installing role cannot read without running code of a role that it does not
-- trust (tracked_owners.v1.sql). trusted: the roles that the operator trusts as the installing role. Reads the catalog alone.
CREATE FUNCTION dms.check_trusted(relation oid, trusted name[]) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refused record;
    installer name := (SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace AS n WHERE n.nspname = 'dms');
    name      text := (SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = relation);
BEGIN
    SELECT o.role, o.reason INTO refused FROM dms.tracked_owners(relation) AS o WHERE o.role <> ALL (trusted) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'table % cannot be tracked: %, and our triggers read it with the rights of role %: functions of role % would run with them',
            name, refused.reason, installer, refused.role
            USING ERRCODE = 'DJ004', HINT = format('If you trust role %s as you trust %s, say so: trust => true, or --trust ''table %s''.', refused.role, installer, name);
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION dms.check_trusted(oid, name[]) FROM PUBLIC;
-- drop: DROP FUNCTION dms.check_trusted(oid, name[]);

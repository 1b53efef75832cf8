-- sql/postgres/functions/check_trackable.v1.sql: refuses a table that cannot be tracked, naming it, the reason and what to do. Reads the catalog alone.
-- trusted: the roles that the operator trusts as the installing role (check_trusted.v1.sql).
CREATE FUNCTION dms.check_trackable(relation oid, key_name name, trusted name[]) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refused record;
BEGIN
    SELECT u.reason, u.remedy, format('%I.%I', n.nspname, c.relname) AS name INTO refused
    FROM dms.untrackable(relation, key_name) AS u CROSS JOIN pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = relation;
    IF FOUND THEN
        RAISE EXCEPTION 'table % cannot be tracked: %', refused.name, refused.reason USING ERRCODE = 'DJ004', HINT = refused.remedy;
    END IF;
    PERFORM dms.check_trusted(relation, trusted);
END $$;
REVOKE EXECUTE ON FUNCTION dms.check_trackable(oid, name, name[]) FROM PUBLIC;
-- drop: DROP FUNCTION dms.check_trackable(oid, name, name[]);

-- sql/postgres/functions/tracked_state.v1.sql: whether an object of a tracked table is as tracking_of.v1.sql has it: ok, or what is wrong with it.
CREATE FUNCTION dms.tracked_state(kind text, name text, relation oid, type smallint, source text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(CASE kind
        WHEN 'view' THEN (
            SELECT CASE WHEN (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute AS a WHERE a.attrelid = v.oid AND a.attnum > 1)
                             IS DISTINCT FROM source
                          OR (SELECT count(*) FROM pg_rewrite AS w
                              JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
                              JOIN pg_attribute AS a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
                              JOIN pg_attribute AS c ON c.attrelid = v.oid AND c.attnum > 1 AND c.attname = a.attname
                              WHERE w.ev_class = v.oid AND d.refobjid = tracked_state.relation)
                             <> (SELECT count(*) FROM pg_attribute AS a WHERE a.attrelid = v.oid AND a.attnum > 1) THEN 'is another one'
                        WHEN v.relowner <> n.nspowner THEN 'belongs to role ' || pg_get_userbyid(v.relowner) ELSE 'ok' END
            FROM pg_class AS v JOIN pg_namespace AS n ON n.oid = v.relnamespace WHERE n.nspname = 'dms' AND v.relkind = 'v' AND v.relname = tracked_state.name)
        WHEN 'function' THEN (
            SELECT CASE WHEN p.prosrc <> source THEN 'is another one'
                        WHEN NOT p.prosecdef THEN 'runs with its caller''s rights'
                        WHEN p.proowner <> n.nspowner THEN 'belongs to role ' || pg_get_userbyid(p.proowner)
                        WHEN has_function_privilege('public', p.oid, 'EXECUTE') THEN 'PUBLIC may execute it' ELSE 'ok' END
            FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
            WHERE n.nspname = 'dms' AND p.proname = tracked_state.name ORDER BY p.oid LIMIT 1)
        ELSE (
            SELECT CASE t.tgenabled WHEN 'D' THEN 'is disabled' WHEN 'R' THEN 'fires in replica role only'
                        ELSE CASE WHEN t.tgtype <> tracked_state.type OR f.proname <> regexp_replace(tracked_state.name, '^zz_dmsjournal_', 'tracked_') OR (t.tgqual IS NULL) = (tracked_state.type = 17)
                                  THEN 'is another one' ELSE 'ok' END END
            FROM pg_trigger AS t JOIN pg_proc AS f ON f.oid = t.tgfoid AND f.pronamespace = 'dms'::regnamespace
            WHERE t.tgrelid = relation AND t.tgname = tracked_state.name) END, 'is missing')
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_state(text, text, oid, smallint, text) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_state(text, text, oid, smallint, text);

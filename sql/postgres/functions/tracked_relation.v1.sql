-- sql/postgres/functions/tracked_relation.v1.sql: the table that is tracked under an id; null where it is gone.
-- The view knows it by itself, whatever it is called now, and after a restore. While the view is not there, the last oid counts, then the name.
CREATE FUNCTION dms.tracked_relation(tracked_id smallint) RETURNS oid
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off AS $$
    SELECT coalesce(
        (SELECT d.refobjid
         FROM pg_class AS v
         JOIN pg_rewrite AS w ON w.ev_class = v.oid
         JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> v.oid
         WHERE v.relnamespace = 'dms'::regnamespace AND v.relkind = 'v' AND v.relname = 'tracked_' || tracked_id
         LIMIT 1),
        (SELECT c.oid FROM dms.TrackedTable AS t JOIN pg_class AS c ON c.oid = t.RelationId AND c.relkind IN ('r', 'p')
         JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE t.TrackedTableId = tracked_id AND t.TableName = format('%I.%I', n.nspname, c.relname)),
        (SELECT to_regclass(t.TableName)::oid FROM dms.TrackedTable AS t WHERE t.TrackedTableId = tracked_id))
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_relation(smallint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_relation(smallint);

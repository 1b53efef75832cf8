-- sql/postgres/functions/tracked_body_query.v1.sql: the query that reads rows as bodies, by the ids of their documents ($1), from the table as it is now; null where the table
-- was dropped or replaced, or runs code of a role that is not trusted. It reads the catalog with the installing role's rights; tracked_bodies runs the query with its caller's.
CREATE FUNCTION dms.tracked_body_query(tracked_id smallint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
    SELECT format('SELECT d.DocumentId, %s FROM dms.Document AS d JOIN %I.%I AS r ON %s WHERE d.ResourceKeyId = %s AND d.DocumentId = ANY ($1)',
                  dms.tracked_body(tracked_id, 'r'), n.nspname, c.relname,
                  (SELECT string_agg(format(k.equal, format('r.%I', k.name), dms.tracked_typed(k.type_id, 'd.KeyValues', k.property)), ' AND ' ORDER BY k.place)
                   FROM dms.tracked_key(tracked_id) AS k), t.ResourceKeyId)
    FROM dms.TrackedTable AS t
    JOIN pg_class AS c ON c.oid = dms.tracked_relation(tracked_id)
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE t.TrackedTableId = tracked_id AND to_regclass(format('dms.%I', 'tracked_' || tracked_id)) IS NOT NULL AND dms.is_trusted(tracked_id)
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_body_query(smallint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_body_query(smallint);

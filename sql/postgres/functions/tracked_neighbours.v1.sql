-- sql/postgres/functions/tracked_neighbours.v1.sql: the other tracked tables that refer to a tracked table or that it refers to, in the order of their ids.
-- Their triggers name it: they are made anew when it is tracked, renewed or untracked. Where a table was dropped, its foreign keys are gone, and the
-- triggers alone tell.
CREATE FUNCTION dms.tracked_neighbours(tracked_id smallint) RETURNS smallint[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY(SELECT DISTINCT n.id
                 FROM dms.tracked_references(tracked_id) AS f
                 CROSS JOIN LATERAL (SELECT CASE tracked_id WHEN f.parent_id THEN f.child_id ELSE f.parent_id END) AS n (id)
                 WHERE n.id <> tracked_id
                 UNION
                 SELECT t.TrackedTableId
                 FROM dms.TrackedTable AS t
                 JOIN pg_proc AS p ON p.pronamespace = 'dms'::regnamespace AND p.proname ~ ('^tracked_' || t.TrackedTableId || '_[a-z]+$')
                 WHERE t.TrackedTableId <> tracked_id AND p.prosrc ~ ('dms\.tracked_' || tracked_id || '([^0-9]|$)')
                 ORDER BY 1)
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_neighbours(smallint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_neighbours(smallint);

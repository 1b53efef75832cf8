-- sql/postgres/functions/tracked_neighbours.v1.sql: the other tracked tables that refer to a tracked table or that it refers to, in the order of their ids.
-- Their triggers name it: they are made anew when it is tracked, renewed or untracked.
CREATE FUNCTION dms.tracked_neighbours(tracked_id smallint) RETURNS smallint[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY(SELECT DISTINCT n.id
                 FROM dms.tracked_references() AS f
                 CROSS JOIN LATERAL (SELECT CASE tracked_id WHEN f.parent_id THEN f.child_id ELSE f.parent_id END) AS n (id)
                 WHERE tracked_id IN (f.parent_id, f.child_id) AND n.id <> tracked_id ORDER BY n.id)
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_neighbours(smallint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_neighbours(smallint);

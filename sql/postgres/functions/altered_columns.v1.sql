-- sql/postgres/functions/altered_columns.v1.sql: the columns of a tracked table that are not as they were at the last generation (make_tracking.v1.sql), each
-- as it was and as it is. is_relabelled: values of its enum have other names now. Values are only added, so the others are still in their order: also
-- two that took each other's name are found. In a restored database columns have other numbers, if one was dropped before: names tell them there.
CREATE FUNCTION dms.altered_columns(tracked_id smallint)
RETURNS TABLE (name_before text, type_before text, labels_before text[], name text, type text, labels text[], is_relabelled boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off AS $$
    SELECT c.name_before, c.type_before, c.labels_before, c.name, c.type, c.labels, r.is_relabelled
    FROM dms.TrackedTable AS t
    CROSS JOIN LATERAL (SELECT q.id, CASE WHEN q.id = t.RelationId THEN 0 ELSE 1 END AS known_by FROM (SELECT dms.tracked_relation(t.TrackedTableId) AS id) AS q) AS q
    CROSS JOIN LATERAL (
        SELECT was.value ->> 1 AS name_before, was.value ->> 2 AS type_before, ARRAY(SELECT jsonb_array_elements_text(nullif(was.value -> 3, 'null'))) AS labels_before,
               now.value ->> 1 AS name, now.value ->> 2 AS type, ARRAY(SELECT jsonb_array_elements_text(nullif(now.value -> 3, 'null'))) AS labels
        FROM jsonb_array_elements(t.AllColumns) AS was
        FULL JOIN jsonb_array_elements(dms.tracked_columns(q.id)) AS now ON now.value -> q.known_by = was.value -> q.known_by) AS c
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE l.place IS NULL OR l.place < l.last) > 0 AS is_relabelled
        FROM (SELECT array_position(c.labels, b.label) AS place, lag(array_position(c.labels, b.label)) OVER (ORDER BY b.place) AS last
              FROM unnest(c.labels_before) WITH ORDINALITY AS b (label, place)) AS l) AS r
    WHERE t.TrackedTableId = tracked_id AND q.id IS NOT NULL AND ((c.name_before, c.type_before) IS DISTINCT FROM (c.name, c.type) OR r.is_relabelled)
$$;
REVOKE EXECUTE ON FUNCTION dms.altered_columns(smallint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.altered_columns(smallint);

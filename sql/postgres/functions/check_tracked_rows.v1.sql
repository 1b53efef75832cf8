-- sql/postgres/functions/check_tracked_rows.v1.sql: rows of some blocks of a tracked table that have no document, and documents whose edges or kept bodies are not
-- what their rows say. One statement looks at rows, documents and edges, so it is exact while others write. Ends with a row 'end': the table's blocks.
CREATE FUNCTION dms.check_tracked_rows(table_name text, low bigint, high bigint) RETURNS TABLE (code text, name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off
SET TimeZone = 'UTC' SET DateStyle = 'ISO, YMD' SET IntervalStyle = 'postgres' SET extra_float_digits = 1 SET bytea_output = 'hex' SET lc_monetary = 'C' SET array_nulls = on AS $$
DECLARE
    tracked smallint := dms.tracked_id(table_name);
    keeps   boolean := (SELECT t.KeepsBodies FROM dms.TrackedTable AS t WHERE t.TrackedTableId = tracked);
    key_r   text := dms.tracked_key_json(tracked, 'r');
    wanted  text;
    relation oid := dms.tracked_relation(tracked);
BEGIN
    IF to_regclass(format('dms.%I', 'tracked_' || tracked)) IS NULL OR key_r IS NULL OR NOT dms.is_readable(tracked) THEN
        RETURN;
    END IF;
    SELECT string_agg(format('SELECT c.DocumentId, %s AS is_identity FROM (SELECT %s AS key FROM dms.tracked_%s AS s WHERE %s OFFSET 0) AS k CROSS JOIN LATERAL (%s) AS c',
                             f.is_identity::text, dms.tracked_key_json(f.child_id, 's'), f.child_id, f.matches, dms.tracked_document(f.child_id, 'k.key')), ' UNION ALL ' ORDER BY f.name)
    INTO wanted FROM dms.tracked_references(tracked) AS f WHERE f.parent_id = tracked AND to_regclass(format('dms.%I', 'tracked_' || f.child_id)) IS NOT NULL;
    RETURN QUERY EXECUTE format('
        SELECT CASE WHEN d.DocumentId IS NULL THEN ''row-undocumented'' WHEN e.differs THEN ''reference-differs'' ELSE ''body-stale'' END,
               coalesce(d.DocumentId::text, left(k.key::text, 200))
        FROM dms.tracked_%1$s AS r
        CROSS JOIN LATERAL (SELECT %2$s AS key OFFSET 0) AS k
        LEFT JOIN LATERAL (%3$s) AS d ON true
        LEFT JOIN LATERAL (
            SELECT ARRAY(SELECT ROW(ChildDocumentId, IsIdentityComponent) FROM dms.ReferenceEdge WHERE ParentDocumentId = d.DocumentId ORDER BY ChildDocumentId) <> ARRAY(%4$s) AS differs OFFSET 0) AS e ON true
        LEFT JOIN LATERAL (
            SELECT %5$s AS is_stale OFFSET 0) AS b ON true
        WHERE r."dmsjournal place" >= format(''(%%s,0)'', $1)::tid AND r."dmsjournal place" < format(''(%%s,0)'', $2)::tid
          AND (d.DocumentId IS NULL OR e.differs OR b.is_stale)', tracked, key_r, dms.tracked_document(tracked, 'k.key'),
        CASE WHEN wanted IS NULL THEN 'SELECT ROW(CAST(0 AS bigint), false) WHERE false' ELSE format('SELECT ROW(w.DocumentId, bool_or(w.is_identity)) FROM (%s) AS w GROUP BY w.DocumentId ORDER BY w.DocumentId', wanted) END,
        CASE WHEN keeps THEN format('(SELECT c.DocumentJson FROM dms.DocumentCache AS c WHERE c.DocumentId = d.DocumentId) IS DISTINCT FROM (%s)', dms.tracked_body(tracked, 'r'))
             ELSE 'false' END) USING low, high;
    WITH RECURSIVE part AS (
        SELECT relation AS id UNION SELECT h.inhrelid FROM part AS p JOIN pg_inherits AS h ON h.inhparent = p.id)
    SELECT 'end', max(pg_relation_size(p.id) / current_setting('block_size')::bigint)::text INTO code, name FROM part AS p;
    RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION dms.check_tracked_rows(text, bigint, bigint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.check_tracked_rows(text, bigint, bigint);

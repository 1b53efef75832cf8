-- sql/postgres/functions/tracked_tables.v1.sql: the tracked tables, for people. estimated_rows: as the server knows it. state: null, or what is wrong.
CREATE FUNCTION dms.tracked_tables() RETURNS TABLE (
    table_name text, project_name text, resource_name text, resource_version text, key_columns name[], shown_columns name[], watched_columns name[], keeps_bodies boolean,
    refers_to text[], estimated_rows bigint, is_filled boolean, state text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET row_security = off SET jit = off AS $$
    SELECT CASE WHEN c.oid IS NULL THEN t.TableName ELSE format('%I.%I', n.nspname, c.relname) END, r.ProjectName, r.ResourceName, r.ResourceVersion,
           ARRAY(SELECT k.name FROM dms.tracked_key(t.TrackedTableId) AS k ORDER BY k.place),
           ARRAY(SELECT DISTINCT w.name FROM (
                     SELECT k.name FROM dms.tracked_key(t.TrackedTableId) AS k
                     UNION ALL SELECT unnest(t.ShownColumns)
                     UNION ALL SELECT unnest(f.child_columns) FROM dms.tracked_references(t.TrackedTableId) AS f WHERE f.child_id = t.TrackedTableId) AS w ORDER BY 1),
           t.WatchedColumns, t.KeepsBodies,
           ARRAY(SELECT DISTINCT o.TableName FROM dms.tracked_references(t.TrackedTableId) AS f JOIN dms.TrackedTable AS o ON o.TrackedTableId = f.child_id
                 WHERE f.parent_id = t.TrackedTableId ORDER BY 1),
           coalesce((SELECT sum(CASE WHEN l.reltuples >= 0 THEN l.reltuples ELSE round(pg_relation_size(l.oid) / width.bytes) END)  -- not analysed yet: by its size, as the planner does
            FROM pg_class AS l
            CROSS JOIN LATERAL (SELECT 28 + sum(CASE WHEN a.attlen > 0 THEN a.attlen ELSE 32 END) AS bytes FROM pg_attribute AS a
                                WHERE a.attrelid = l.oid AND a.attnum > 0 AND NOT a.attisdropped) AS width
            WHERE l.oid = c.oid OR l.oid IN (SELECT p.relid FROM pg_partition_tree(c.oid) AS p WHERE p.isleaf)), 0)::bigint,
           t.FilledAt IS NOT NULL,
           (SELECT string_agg(w.name, '; ' ORDER BY w.name) FROM dms.check_tracking() AS w WHERE w.table_name = t.TableName)
    FROM dms.TrackedTable AS t
    JOIN dms.ResourceKey AS r ON r.ResourceKeyId = t.ResourceKeyId
    LEFT JOIN pg_class AS c ON c.oid = dms.tracked_relation(t.TrackedTableId)
    LEFT JOIN pg_namespace AS n ON n.oid = c.relnamespace
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_tables() FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_tables();

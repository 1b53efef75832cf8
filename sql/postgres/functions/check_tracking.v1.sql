-- sql/postgres/functions/check_tracking.v1.sql: what is wrong with the tracking of a table: an object that is missing or not as tracking_of.v1.sql has it,
-- columns that changed since, a table that is gone, or that track would refuse by now, a fill that has not come to its end. Reads the catalog alone, with the installing role's rights.
CREATE FUNCTION dms.check_tracking() RETURNS TABLE (code text, table_name text, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET row_security = off SET jit = off AS $$
    SELECT 'tracking-altered', t.TableName, format('%s %s%s %s', o.kind, o.name, CASE WHEN o.kind = 'trigger' THEN ' on ' || o.relation::regclass ELSE '' END, s.state)
    FROM dms.TrackedTable AS t CROSS JOIN LATERAL dms.tracking_of(t.TrackedTableId) AS o
    CROSS JOIN LATERAL (SELECT dms.tracked_state(o.kind, o.name, o.relation, o.type, o.source) AS state OFFSET 0) AS s
    WHERE s.state <> 'ok'
    UNION ALL
    SELECT 'tracked-table-gone', t.TableName, CASE WHEN dms.tracked_relation(t.TrackedTableId) IS NULL THEN 'the table is gone' ELSE 'its key is gone' END
    FROM dms.TrackedTable AS t WHERE NOT EXISTS (SELECT FROM dms.tracked_key(t.TrackedTableId))
    UNION ALL
    SELECT CASE WHEN f.fails THEN 'tracking-failing' ELSE 'tracking-outdated' END, t.TableName,
           format('column %s %s', coalesce(c.name, c.name_before), CASE WHEN c.name_before IS NULL THEN 'is new' WHEN c.name IS NULL THEN 'is gone'
               WHEN c.name <> c.name_before THEN 'was ' || c.name_before WHEN c.type <> c.type_before THEN 'was of type ' || c.type_before
               ELSE coalesce('has no value ' || (SELECT string_agg(b, ', ') FROM unnest(c.labels_before) AS b WHERE b <> ALL (c.labels)) || ' any more',
                             'has values that changed their names') END)
           || CASE WHEN f.fails THEN ': writes of the table fail until dmsjournal track --renew' ELSE '' END
    FROM dms.TrackedTable AS t
    CROSS JOIN LATERAL dms.altered_columns(t.TrackedTableId) AS c
    CROSS JOIN LATERAL (  -- whether the triggers name a column that has another name now, or would read a virtual one, which they are not told
        SELECT coalesce(c.name_before <> coalesce(c.name, '')
                        AND (c.name_before = ANY (t.ShownColumns || t.WatchedColumns)
                             OR EXISTS (SELECT FROM dms.tracked_key(t.TrackedTableId) AS k WHERE k.name = c.name)
                             OR EXISTS (SELECT FROM dms.tracked_references(t.TrackedTableId) AS e WHERE e.parent_id = t.TrackedTableId AND c.name = ANY (e.parent_columns)
                                                                                     OR e.child_id = t.TrackedTableId AND c.name = ANY (e.child_columns))), false)
               OR c.name_before IS NULL AND t.WatchedColumns IS NULL
                  AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = dms.tracked_relation(t.TrackedTableId) AND a.attname = c.name AND a.attgenerated = 'v')
                  AND NOT EXISTS (SELECT FROM jsonb_array_elements(t.AllColumns) AS was JOIN pg_attribute AS a ON a.attrelid = dms.tracked_relation(t.TrackedTableId) AND a.attname = was.value ->> 1
                                  WHERE a.attgenerated = 'v') AS fails) AS f
    UNION ALL
    SELECT DISTINCT 'tracking-untrusted', t.TableName, o.reason FROM dms.TrackedTable AS t CROSS JOIN LATERAL dms.tracked_owners(dms.tracked_relation(t.TrackedTableId)) AS o
    WHERE o.role <> ALL (t.TrustedRoles)
    UNION ALL
    SELECT 'tracking-refused', t.TableName, format('%s: %s', u.reason, u.remedy)
    FROM dms.TrackedTable AS t CROSS JOIN LATERAL dms.untrackable(dms.tracked_relation(t.TrackedTableId), t.KeyName) AS u
    WHERE EXISTS (SELECT FROM dms.tracked_key(t.TrackedTableId))
    UNION ALL
    SELECT 'tracking-unfilled', t.TableName, 'its fill has not come to its end' FROM dms.TrackedTable AS t WHERE t.FilledAt IS NULL
$$;
REVOKE EXECUTE ON FUNCTION dms.check_tracking() FROM PUBLIC;
-- drop: DROP FUNCTION dms.check_tracking();

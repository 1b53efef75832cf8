-- sql/postgres/functions/make_tracking.v1.sql: makes what tracking a table is made of (tracking_of.v1.sql) as it should be now; nothing is touched
-- that is so already, since a trigger that is made waits for every writer of its table; where functions change, writers are waited for. A column of `shows` or `columns` that has another name now is
-- found by its number, also where a table that refers to this one is renewed first; not in a restored database, whose columns may have other numbers.
-- Where rows read otherwise by now, the fill that follows stamps every document.
CREATE FUNCTION dms.make_tracking(tracked_id smallint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET row_security = off AS $$
DECLARE
    object  record;
    objects jsonb;  -- what tracking_of gives: generated once, which is most of what this costs
    seen    text;
    owner   name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c
                    WHERE c.oid = dms.tracked_relation(tracked_id) AND c.relkind = 'p' AND pg_get_userbyid(c.relowner) <> current_user);
BEGIN
    -- Its rows read otherwise now, though nobody wrote them, if values of an enum, or columns, took each other's names, or kept bodies have other properties.
    UPDATE dms.TrackedTable AS t SET FilledAt = NULL, FilledBlocks = 0, FilledRows = 0, FilledDocument = NULL, IsCurrent = false
    WHERE t.TrackedTableId = tracked_id AND EXISTS (
        SELECT FROM dms.altered_columns(tracked_id) AS c
        WHERE t.KeepsBodies OR c.is_relabelled OR c.name <> c.name_before AND EXISTS (SELECT FROM dms.altered_columns(tracked_id) AS o WHERE o.name = c.name_before));
    UPDATE dms.TrackedTable AS t
    SET ShownColumns = dms.renamed_columns(t.ShownColumns, t.AllColumns, t.RelationId), WatchedColumns = dms.renamed_columns(t.WatchedColumns, t.AllColumns, t.RelationId)
    WHERE t.TrackedTableId = tracked_id AND t.RelationId = dms.tracked_relation(tracked_id);
    -- A column keeps its name in KeyValues, also where the key has been made anew with other columns, or with the same in another order. In a restored
    -- database columns are known by their names, and if one has another name by now, by their places in the key.
    UPDATE dms.TrackedTable AS t
    SET Properties = CASE WHEN k.is_known THEN CASE WHEN (SELECT count(DISTINCT p) FROM unnest(k.properties) AS p) = cardinality(k.properties) THEN k.properties ELSE k.names END
                          WHEN cardinality(t.Properties) <> cardinality(k.names) THEN k.names ELSE t.Properties END
    FROM (SELECT array_agg(coalesce(was.value ->> 4, k.name) ORDER BY k.place) AS properties, array_agg(k.name ORDER BY k.place) AS names,
                 bool_and(jsonb_path_exists(o.AllColumns, '$[*][4]') AND (r.is_same OR was.value IS NOT NULL)) AS is_known
          FROM dms.TrackedTable AS o
          CROSS JOIN LATERAL (SELECT o.RelationId = dms.tracked_relation(tracked_id) AS is_same) AS r
          CROSS JOIN dms.tracked_key(tracked_id) AS k
          LEFT JOIN jsonb_array_elements(o.AllColumns) AS was ON CASE WHEN r.is_same THEN CAST(was.value ->> 0 AS smallint) = k.attnum ELSE was.value ->> 1 = k.name END
          WHERE o.TrackedTableId = tracked_id) AS k
    WHERE t.TrackedTableId = tracked_id AND k.names IS NOT NULL;
    PERFORM dms.check_trusted(dms.tracked_relation(tracked_id), t.TrustedRoles) FROM dms.TrackedTable AS t WHERE t.TrackedTableId = tracked_id;
    objects := (SELECT jsonb_agg(o) FROM dms.tracking_of(tracked_id) AS o);
    FOR object IN
        SELECT t.tgname, format('%I.%I', n.nspname, c.relname) AS target
        FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE t.tgname ~ ('^zz_dmsjournal_' || tracked_id || '_[a-z]+$') AND t.tgparentid = 0
          AND NOT EXISTS (SELECT FROM jsonb_to_recordset(objects) AS o (kind text, name text, relation oid)
                          WHERE o.kind = 'trigger' AND o.relation = t.tgrelid AND o.name = t.tgname)
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', object.tgname, object.target);
    END LOOP;
    -- A transaction that has written by the functions of before must end first: the fill that follows would not see its rows. A trigger that is made again waits.
    IF EXISTS (SELECT FROM jsonb_to_recordset(objects) AS o (kind text, name text, relation oid, type smallint, source text)
               WHERE o.kind = 'function' AND dms.tracked_state(o.kind, o.name, o.relation, o.type, o.source) = 'is another one') THEN
        FOR object IN SELECT o.statement FROM jsonb_to_recordset(objects) AS o (kind text, name text, relation oid, type smallint, statement text)
                      JOIN pg_trigger AS t ON t.tgrelid = o.relation AND t.tgname = o.name
                      WHERE o.kind = 'trigger' AND o.type = 32 LOOP
            EXECUTE object.statement;
        END LOOP;
    END IF;
    FOR object IN SELECT o.* FROM ROWS FROM (jsonb_to_recordset(objects) AS (kind text, name text, relation oid, type smallint, statement text, source text)) WITH ORDINALITY AS o
                  ORDER BY o.ordinality LOOP
        IF object.kind = 'view' THEN
            seen := dms.tracked_state(object.kind, object.name, object.relation, object.type, object.source);
            IF seen <> 'ok' THEN
                IF seen <> 'is missing' THEN
                    EXECUTE format('DROP VIEW dms.%I', object.name);
                END IF;
                EXECUTE object.statement;
                EXECUTE format('COMMENT ON VIEW dms.%I IS ''dmsjournal: a tracked table''', object.name);
            END IF;
        ELSIF object.kind = 'function' THEN
            EXECUTE object.statement;
            FOR seen IN SELECT p.oid::regprocedure::text FROM pg_proc AS p WHERE p.pronamespace = 'dms'::regnamespace AND p.proname = object.name LOOP
                EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', seen);
                EXECUTE format('COMMENT ON FUNCTION %s IS ''dmsjournal: of a tracked table''', seen);
                -- A partition comes with a copy of the row's trigger, which takes the right of the role that makes the partition.
                IF object.name = format('tracked_%s_rekey', tracked_id) AND owner IS NOT NULL THEN
                    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', seen, owner);
                END IF;
            END LOOP;
        ELSIF dms.tracked_state(object.kind, object.name, object.relation, object.type, object.source) <> 'ok' THEN
            EXECUTE object.statement;
        END IF;
    END LOOP;
    -- Which resources refer to which: the first writer of a reference would note it, and keep others waiting until its transaction ends.
    INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
    SELECT DISTINCT p.ResourceKeyId, c.ResourceKeyId
    FROM dms.tracked_references(tracked_id) AS f
    JOIN dms.TrackedTable AS p ON p.TrackedTableId = f.parent_id JOIN dms.TrackedTable AS c ON c.TrackedTableId = f.child_id
    ORDER BY 1, 2
    ON CONFLICT DO NOTHING;
    UPDATE dms.TrackedTable AS t
    SET RelationId = c.oid, TableName = format('%I.%I', n.nspname, c.relname),
        AllColumns = (SELECT coalesce(jsonb_agg(CASE WHEN k.property IS NULL THEN one.value ELSE one.value || jsonb_build_array(k.property) END ORDER BY one.ordinality), '[]')
                      FROM jsonb_array_elements(dms.tracked_columns(c.oid)) WITH ORDINALITY AS one
                      LEFT JOIN dms.tracked_key(tracked_id) AS k ON k.attnum = CAST(one.value ->> 0 AS smallint))
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE t.TrackedTableId = tracked_id AND c.oid = dms.tracked_relation(tracked_id)
      AND NOT EXISTS (  -- of a restored database: renew_tracking refuses, until the table is tracked by the names of today
          SELECT FROM unnest(t.ShownColumns || t.WatchedColumns) AS w (name)
          WHERE NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = w.name AND a.attnum > 0 AND NOT a.attisdropped));
END $$;
REVOKE EXECUTE ON FUNCTION dms.make_tracking(smallint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.make_tracking(smallint);

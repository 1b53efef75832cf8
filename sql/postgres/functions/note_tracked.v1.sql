-- sql/postgres/functions/note_tracked.v1.sql: checks what track is asked for, and writes it down; no lock on the table is taken. Gives the table's oid.
CREATE FUNCTION dms.note_tracked(
    table_name text, project text, resource text, version text, shows name[], columns name[], key name, bodies boolean, trust boolean)
RETURNS oid
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    relation oid := to_regclass(table_name);
    found    record;
    kind     smallint;
    wrong    name;
    trusted  name[] := '{}';
BEGIN
    IF relation IS NULL THEN
        RAISE EXCEPTION 'table % is not there', table_name
            USING ERRCODE = 'DJ004', HINT = 'Name it with its schema, as SQL has it: app.student, or app."Order" where a name has capitals.';
    END IF;
    IF trust THEN
        trusted := ARRAY(SELECT DISTINCT o.role FROM dms.tracked_owners(relation) AS o ORDER BY o.role);
    END IF;
    PERFORM dms.check_trackable(relation, key, trusted);
    SELECT c.relname, n.nspname, format('%I.%I', n.nspname, c.relname) AS name INTO found
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = relation;
    IF EXISTS (SELECT FROM dms.TrackedTable AS t WHERE dms.tracked_relation(t.TrackedTableId) = relation) THEN
        RAISE EXCEPTION 'table % is tracked already', found.name
            USING ERRCODE = 'DJ004', HINT = 'To take in what has changed about it, use --renew (dms.renew_tracking); for other columns or another key, untrack it first.';
    END IF;
    SELECT c INTO wrong FROM unnest(shows || columns) AS c
    WHERE NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attname = c AND a.attnum > 0 AND NOT a.attisdropped) LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'table % has no column %', found.name, quote_ident(wrong)
            USING ERRCODE = 'DJ004', HINT = 'Its columns are ' || (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute AS a
                                                                   WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped) || '.';
    END IF;
    SELECT c INTO wrong FROM unnest(shows || columns) AS c
    WHERE EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attname = c AND a.attgenerated = 'v' AND NOT a.attisdropped) LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'column % of table % is generated and virtual: no trigger is told its values', quote_ident(wrong), found.name
            USING ERRCODE = 'DJ004', HINT = 'Name the columns that it is computed from.';
    END IF;
    project := coalesce(project, found.nspname);
    resource := coalesce(resource, found.relname);
    INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion) VALUES (project, resource, version) ON CONFLICT DO NOTHING;
    SELECT r.ResourceKeyId INTO kind FROM dms.ResourceKey AS r
    WHERE r.ProjectName = project AND r.ResourceName = resource AND r.ResourceVersion = version;
    IF EXISTS (SELECT FROM dms.TrackedTable AS t WHERE t.ResourceKeyId = kind) THEN
        RAISE EXCEPTION 'resource %.% % is of table % already', project, resource, version, (SELECT t.TableName FROM dms.TrackedTable AS t WHERE t.ResourceKeyId = kind)
            USING ERRCODE = 'DJ004', HINT = 'Give another resource or project.';
    END IF;
    INSERT INTO dms.TrackedTable (ResourceKeyId, RelationId, TableName, KeyName, Properties, ShownColumns, WatchedColumns, AllColumns, KeepsBodies, TrustedRoles, IsLinked, IsCurrent)
    VALUES (kind, relation, found.name, key,
            ARRAY(SELECT a.attname FROM pg_constraint AS con CROSS JOIN LATERAL unnest(con.conkey) WITH ORDINALITY AS k (number, place)
                  JOIN pg_attribute AS a ON a.attrelid = relation AND a.attnum = k.number
                  WHERE con.conrelid = relation AND CASE WHEN key IS NULL THEN con.contype = 'p' ELSE con.conname = key AND con.contype IN ('p', 'u') END
                  ORDER BY k.place),
            shows, columns, dms.tracked_columns(relation), bodies, trusted,
            NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.ResourceKeyId = kind), NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.ResourceKeyId = kind));
    RETURN relation;
END $$;
REVOKE EXECUTE ON FUNCTION dms.note_tracked(text, text, text, text, name[], name[], name, boolean, boolean) FROM PUBLIC;
-- drop: DROP FUNCTION dms.note_tracked(text, text, text, text, name[], name[], name, boolean, boolean);

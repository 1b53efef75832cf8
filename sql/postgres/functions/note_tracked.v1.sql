-- sql/postgres/functions/note_tracked.v1.sql: checks what track is asked for, and writes it down; no lock on the table is taken. Gives the table's oid.
CREATE FUNCTION dms.note_tracked(
    table_name text, project text, resource text, version text, shows name[], columns name[], key name, bodies boolean, trust boolean)
RETURNS oid
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET row_security = off AS $$
DECLARE
    relation oid := dms.check_asked(table_name, shows, columns, key, trust);
    named    record;
    kind     smallint;
    trusted  name[] := '{}';
BEGIN
    IF trust THEN
        trusted := ARRAY(SELECT DISTINCT o.role FROM dms.tracked_owners(relation) AS o ORDER BY o.role);
    END IF;
    SELECT c.relname, n.nspname, format('%I.%I', n.nspname, c.relname) AS name INTO named
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = relation;
    project := coalesce(project, named.nspname);
    resource := coalesce(resource, named.relname);
    INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion) VALUES (project, resource, version) ON CONFLICT DO NOTHING;
    SELECT r.ResourceKeyId INTO kind FROM dms.ResourceKey AS r
    WHERE r.ProjectName = project AND r.ResourceName = resource AND r.ResourceVersion = version;
    IF EXISTS (SELECT FROM dms.TrackedTable AS t WHERE t.ResourceKeyId = kind) THEN
        RAISE EXCEPTION 'resource %.% % is of table % already', project, resource, version, (SELECT t.TableName FROM dms.TrackedTable AS t WHERE t.ResourceKeyId = kind)
            USING ERRCODE = 'DJ009', HINT = 'Give another resource or project.';
    END IF;
    INSERT INTO dms.TrackedTable (ResourceKeyId, RelationId, TableName, KeyName, Properties, ShownColumns, WatchedColumns, AllColumns, KeepsBodies, TrustedRoles, IsLinked, IsCurrent)
    VALUES (kind, relation, named.name, key,
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

-- sql/postgres/functions/tracking_of.v1.sql: what tracking a table is made of, generated from the catalog: a view, functions and triggers, each with
-- the statement that makes it. `source` is what pg_proc keeps of a function; `type` what pg_trigger keeps of a trigger. Each name is quoted here.
-- How the generated code works, and why: docs/dba/track.md, What is installed. In short:
-- - Triggers learn from transition tables which keys a statement touched, and read the rows themselves from the view: a trigger of the table's own
--   may have written them again meanwhile.
-- - A value is compared by its image (*<>), which every type has. Old and new rows are paired by the key's own equality (GROUP BY), never joined: a
--   kept join of two transition tables is right for one row or for a million. Everything else is a lookup by key: see stamp_parents.v1.sql.
-- - One statement is planned anew where it pays: that of the edges of more than 200 rows.
-- - The transition tables' alias is what a program reads in the error after ALTER TABLE ... RENAME COLUMN.
CREATE FUNCTION dms.tracking_of(tracked_id smallint)
RETURNS TABLE (kind text, name text, relation oid, type smallint, statement text, source text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off AS $$
DECLARE
    alias    CONSTANT text := '"dmsjournal track --renew"';
    tracked  record;
    root     oid := dms.tracked_relation(tracked_id);
    target   text;
    keys     name[];
    shown    name[];
    links    name[];
    referred name[];
    watched  text;
    equal_p  text;  -- the key of p is that of r
    equal_t  text;  -- the key of a row of a transition table is that of r
    typed    text;  -- the key of r is that in d.KeyValues, and written alike: citext 'a' and 'A' are equal
    one_t    text;  -- which of several rows r that equal_t finds: under a deferrable key they may be written otherwise
    create_w text;  -- makes the documents of keys w: never two of one row
    key_r    text := dms.tracked_key_json(tracked_id, 'r');
    key_t    text := dms.tracked_key_json(tracked_id, alias);
    settings text := 'LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan';
    link     text;  -- what r refers to: place, is_identity, key, child (null: a row that has no document)
    linked   text;  -- the same of each row of "dmsjournal row": parent, child, is_identity
    ensure   text;
    late     text;  -- whether r refers to a row that is not there yet
    unseen   text;  -- whether r refers to a row that an older snapshot does not see, though the server's check does
    arrive   text;
    stays    text;  -- the edges of what refers to rows that go
    keep     text := '';
    cells    text;
    conflict CONSTANT text := 'RAISE EXCEPTION ''could not serialize access: a row refers to one that another transaction has inserted since this one began''
            USING ERRCODE = ''serialization_failure'', HINT = ''Run the transaction again.'';';
    is_late  boolean;  -- the key is deferrable: two rows may have one for a while
BEGIN
    SELECT t.* INTO tracked FROM dms.TrackedTable AS t WHERE t.TrackedTableId = tracked_id;
    SELECT array_agg(k.name ORDER BY k.place),
           string_agg(format(k.equal, format('p.%I', k.name), format('r.%I', k.name)), ' AND ' ORDER BY k.place),
           string_agg(format(k.equal, format('%s.%I', alias, k.name), format('r.%I', k.name)), ' AND ' ORDER BY k.place),
           string_agg(format(k.equal, format('r.%I', k.name), dms.tracked_typed(k.type_id, 'd.KeyValues', k.property)), ' AND ' ORDER BY k.place)
    INTO keys, equal_p, equal_t, typed
    FROM dms.tracked_key(tracked_id) AS k;
    IF keys IS NULL THEN
        RETURN;
    END IF;
    typed := format('%s AND %s = d.KeyValues', typed, key_r);
    is_late := (SELECT con.condeferrable FROM pg_constraint AS con WHERE con.conrelid = root
                AND CASE WHEN tracked.KeyName IS NULL THEN con.contype = 'p' ELSE con.conname = tracked.KeyName AND con.contype IN ('p', 'u') END);
    one_t := CASE WHEN is_late THEN format('ORDER BY %s = %s DESC ', key_r, key_t) ELSE '' END || 'LIMIT 1';
    links := ARRAY(SELECT DISTINCT c FROM dms.tracked_references(tracked_id) AS f CROSS JOIN LATERAL unnest(f.parent_columns) AS c WHERE f.parent_id = tracked_id ORDER BY c);
    referred := ARRAY(SELECT DISTINCT c FROM dms.tracked_references(tracked_id) AS f CROSS JOIN LATERAL unnest(f.child_columns) AS c WHERE f.child_id = tracked_id ORDER BY c);
    shown := ARRAY(SELECT DISTINCT c FROM unnest(keys || referred || tracked.ShownColumns) AS c ORDER BY c);
    IF EXISTS (  -- what the text of a value depends on
        SELECT FROM pg_attribute AS a
        WHERE a.attrelid = root AND a.attnum > 0 AND NOT a.attisdropped AND (a.attname = ANY (keys || links) OR tracked.KeepsBodies)
          AND dms.tracked_base_type(a.atttypid) <> ALL (
              ARRAY['bool', 'int2', 'int4', 'int8', 'numeric', 'text', 'varchar', 'bpchar', 'name', 'uuid', 'bytea', 'jsonb', 'date']::regtype[])) THEN
        settings := settings || '
SET TimeZone = ''UTC'' SET DateStyle = ''ISO, YMD'' SET IntervalStyle = ''postgres'' SET extra_float_digits = 1 SET bytea_output = ''hex'' SET lc_monetary = ''C'' SET array_nulls = on';
    END IF;
    -- A snapshot that is older than a document of the row does not see it, though the row's lock was waited for: the unique uuid tells, and the writer's
    -- transaction fails as a conflict of snapshots does. A document whose key changed since may have the uuid; then another one is drawn.
    create_w := format('INSERT INTO dms.Document (ResourceKeyId, KeyValues, DocumentUuid)
        SELECT %1$s, w.key, CASE WHEN (SELECT true FROM dms.Document AS t WHERE t.DocumentUuid = u.id LIMIT 1) THEN gen_random_uuid() ELSE u.id END
        FROM (%%1$s) AS w
        CROSS JOIN LATERAL (SELECT CAST(md5(%2$L || CAST(w.key AS text)) AS uuid) AS id OFFSET 0) AS u
        LEFT JOIN LATERAL (%3$s) AS d ON true
        WHERE d.DocumentId IS NULL
        ON CONFLICT (DocumentUuid) DO NOTHING', tracked.ResourceKeyId, tracked.Salt, dms.tracked_document(tracked_id, 'w.key'));
    IF tracked.KeepsBodies THEN
        keep := format('PERFORM dms.tracked_%s_keep(touched);', tracked_id);
    END IF;

    kind := 'view';
    name := format('tracked_%s', tracked_id);
    relation := root;
    source := (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute AS a
               WHERE a.attrelid = root AND a.attnum > 0 AND NOT a.attisdropped AND (a.attname = ANY (keys || links || referred) OR tracked.KeepsBodies));
    statement := (SELECT format('CREATE VIEW dms.%I AS SELECT t.ctid AS "dmsjournal place", %s FROM %I.%I AS t', name, source, n.nspname, c.relname)
                  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = root);
    RETURN NEXT;

    relation := NULL;
    kind := 'function';
    SELECT string_agg(format('SELECT %1$s AS place, %2$s AS is_identity, k.key, c.DocumentId AS child
            FROM (SELECT %3$s AS key FROM dms.tracked_%4$s AS s WHERE %5$s OFFSET 0) AS k
            LEFT JOIN LATERAL (%6$s) AS c ON true', f.place, f.is_identity::text, dms.tracked_key_json(f.child_id, 's'), f.child_id, f.matches,
               dms.tracked_document(f.child_id, 'k.key')), '
            UNION ALL
            ' ORDER BY f.place),
        string_agg(format('SELECT r."dmsjournal document" AS parent, c.DocumentId AS child, %1$s AS is_identity
            FROM "dmsjournal row" AS r
            CROSS JOIN LATERAL (SELECT %2$s AS key FROM dms.tracked_%3$s AS s WHERE %4$s OFFSET 0) AS k
            LEFT JOIN LATERAL (%5$s) AS c ON true', f.is_identity::text, dms.tracked_key_json(f.child_id, 's'), f.child_id, f.matches,
               dms.tracked_document(f.child_id, 'k.key')) || '
            WHERE r."dmsjournal linked" IS NULL', '
            UNION ALL
            ' ORDER BY f.place),
        (SELECT string_agg(format('PERFORM dms.tracked_%1$s_ensure(ARRAY(
            SELECT m.key FROM unnest(missing_keys, missing_places) AS m (key, place) WHERE m.place = ANY (%2$L)));', e.child_id, e.places), '
        ' ORDER BY e.child_id)  -- in the same order by each writer, of each table
         FROM (SELECT p.child_id, array_agg(p.place ORDER BY p.place) AS places FROM unnest(array_agg(f.child_id), array_agg(f.place)) AS p (child_id, place)
               GROUP BY p.child_id) AS e),
        string_agg(f.absent, ' OR ' ORDER BY f.place) FILTER (WHERE f.is_late),
        string_agg(f.absent, ' OR ' ORDER BY f.place)
            FILTER (WHERE NOT f.is_late AND (SELECT c.relkind = 'p' FROM pg_class AS c WHERE c.oid = dms.tracked_relation(f.child_id)))
    INTO link, linked, ensure, late, unseen
    FROM (SELECT f.*, row_number() OVER (ORDER BY f.name, f.constraint_id) AS place,
                 format('%1$s AND NOT EXISTS (SELECT FROM dms.tracked_%2$s AS s WHERE %3$s)',  -- r refers to a row that is not seen
                        (SELECT string_agg(format('r.%I IS NOT NULL', c), ' AND ') FROM unnest(f.parent_columns) AS c), f.child_id, f.matches) AS absent
          FROM dms.tracked_references(tracked_id) AS f WHERE f.parent_id = tracked_id) AS f;

    -- ensure(keys): the documents of rows that have none. The rows are locked, so that one session makes each, in the order of their keys, so that two
    -- statements do not wait for each other. Their edges come at the end of the
    -- transaction (link_late.v1.sql), one document after the other: such rows may refer to each other in a chain of any length.
    name := format('tracked_%s_ensure', tracked_id);
    source := format('
DECLARE
    locked jsonb[];
    touched bigint[];
BEGIN
    SELECT array_agg(l.key) INTO locked FROM (
        SELECT %1$s AS key FROM (SELECT DISTINCT o.key FROM unnest(keys) AS o (key) ORDER BY 1) AS w
        CROSS JOIN LATERAL (SELECT w.key AS KeyValues OFFSET 0) AS d
        JOIN dms.tracked_%2$s AS r ON %3$s
        FOR NO KEY UPDATE OF r) AS l;
    WITH made AS (
        %4$s
        RETURNING DocumentId
    )
    SELECT array_agg(DocumentId) INTO touched FROM made;
    IF touched IS NOT NULL THEN
        %5$s
    END IF;
END ', key_r, tracked_id, typed, format(create_w, 'SELECT DISTINCT l.key FROM unnest(locked) AS l (key)'),
        CASE WHEN link IS NULL THEN '' ELSE format('SET CONSTRAINTS dms.TR_TrackedLate_Link DEFERRED;
        INSERT INTO dms.TrackedLate (TrackedTableId, DocumentId) SELECT %s, w.id FROM unnest(touched) AS w (id) ON CONFLICT DO NOTHING;
        ', tracked_id) END || coalesce(nullif(keep, ''), 'NULL;'));
    statement := format('CREATE OR REPLACE FUNCTION dms.%I(keys jsonb[]) RETURNS void %s AS %L', name, settings, source);
    RETURN NEXT;

    -- edges(parents, waits): the edges of documents become what their rows say. A fill does not wait for rows that have no document yet: its last pass makes
    -- the edges to them.
    name := format('tracked_%s_edges', tracked_id);
    source := CASE WHEN link IS NULL THEN '
BEGIN
    DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = ANY (parents);
END ' ELSE format('
DECLARE
    lost_parents bigint[]; lost_children bigint[];
    new_parents bigint[]; new_children bigint[]; new_identity boolean[];
    kept_parents bigint[]; kept_children bigint[]; kept_identity boolean[];
    missing_keys jsonb[]; missing_places integer[];
BEGIN
    FOR attempt IN 1..2 LOOP
        WITH link AS MATERIALIZED (
            SELECT w.id AS parent, l.*
            FROM unnest(parents) AS w (id)
            CROSS JOIN LATERAL (SELECT KeyValues FROM dms.Document WHERE DocumentId = w.id OFFSET 0) AS d
            CROSS JOIN LATERAL (SELECT r.* FROM dms.tracked_%1$s AS r WHERE %2$s LIMIT 1) AS r
            CROSS JOIN LATERAL (
            %3$s) AS l
        ), pair AS (
            SELECT b.parent, b.child, bool_or(b.is_identity) FILTER (WHERE b.is_wanted) AS is_identity, bool_or(b.is_identity) FILTER (WHERE NOT b.is_wanted) AS was_identity,
                   bool_or(b.is_wanted) AS is_wanted, bool_or(NOT b.is_wanted) AS is_there
            FROM (
                SELECT l.parent, l.child, l.is_identity, true AS is_wanted FROM link AS l WHERE l.child IS NOT NULL
                UNION ALL
                SELECT w.id, e.ChildDocumentId, e.IsIdentityComponent, false FROM unnest(parents) AS w (id)
                CROSS JOIN LATERAL (SELECT ChildDocumentId, IsIdentityComponent FROM dms.ReferenceEdge WHERE ParentDocumentId = w.id OFFSET 0) AS e) AS b
            GROUP BY b.parent, b.child
        )
        SELECT edge.*, missing.*
        INTO lost_parents, lost_children, new_parents, new_children, new_identity, kept_parents, kept_children, kept_identity, missing_keys, missing_places
        FROM (SELECT array_agg(p.parent) FILTER (WHERE NOT p.is_wanted), array_agg(p.child) FILTER (WHERE NOT p.is_wanted),
                     array_agg(p.parent) FILTER (WHERE NOT p.is_there), array_agg(p.child) FILTER (WHERE NOT p.is_there),
                     array_agg(p.is_identity) FILTER (WHERE NOT p.is_there),
                     array_agg(p.parent) FILTER (WHERE p.is_identity <> p.was_identity), array_agg(p.child) FILTER (WHERE p.is_identity <> p.was_identity),
                     array_agg(p.is_identity) FILTER (WHERE p.is_identity <> p.was_identity)
              FROM pair AS p) AS edge
        CROSS JOIN (SELECT array_agg(l.key), array_agg(l.place) FROM link AS l WHERE l.child IS NULL) AS missing;
        EXIT WHEN missing_keys IS NULL OR NOT waits;
        %4$s
    END LOOP;
    IF lost_parents IS NOT NULL THEN
        DELETE FROM dms.ReferenceEdge AS e USING unnest(lost_parents, lost_children) AS w (parent, child)
        WHERE e.ParentDocumentId = w.parent AND e.ChildDocumentId = w.child;
    END IF;
    IF new_parents IS NOT NULL THEN
        INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, IsIdentityComponent, ParentResourceKeyId)
        SELECT w.parent, w.child, w.is_identity, %6$s FROM unnest(new_parents, new_children, new_identity) AS w (parent, child, is_identity)
        ON CONFLICT (ParentDocumentId, ChildDocumentId) DO NOTHING;
    END IF;
    IF kept_parents IS NOT NULL THEN  -- another foreign key refers to the same row now
        UPDATE dms.ReferenceEdge AS e SET IsIdentityComponent = w.is_identity
        FROM unnest(kept_parents, kept_children, kept_identity) AS w (parent, child, is_identity)
        WHERE e.ParentDocumentId = w.parent AND e.ChildDocumentId = w.child;
    END IF;
    IF NOT waits AND missing_keys IS NOT NULL THEN  -- the last pass of a fill comes back for them
        UPDATE dms.TrackedTable SET IsLinked = false, FilledAt = NULL WHERE TrackedTableId = %1$s;
    END IF;%5$s
END ', tracked_id, typed, link, ensure, CASE WHEN late IS NULL THEN '' ELSE format('
    SET CONSTRAINTS dms.TR_TrackedLate_Link DEFERRED;  -- the session may have said ALL IMMEDIATE, and deferred the foreign key again
    INSERT INTO dms.TrackedLate (TrackedTableId, DocumentId)
    SELECT %1$s, w.id
    FROM unnest(parents) AS w (id)
    CROSS JOIN LATERAL (SELECT KeyValues FROM dms.Document WHERE DocumentId = w.id OFFSET 0) AS d
    CROSS JOIN LATERAL (SELECT r.* FROM dms.tracked_%1$s AS r WHERE %2$s LIMIT 1) AS r
    WHERE %3$s
    ON CONFLICT DO NOTHING;', tracked_id, typed, late) END || CASE WHEN unseen IS NULL THEN '' ELSE format('
    IF current_setting(''transaction_isolation'') IN (''repeatable read'', ''serializable'') AND EXISTS (
        SELECT FROM unnest(parents) AS w (id)
        CROSS JOIN LATERAL (SELECT KeyValues FROM dms.Document WHERE DocumentId = w.id OFFSET 0) AS d
        CROSS JOIN LATERAL (SELECT r.* FROM dms.tracked_%1$s AS r WHERE %2$s LIMIT 1) AS r
        WHERE %3$s) THEN
        %4$s
    END IF;', tracked_id, typed, unseen, conflict) END, tracked.ResourceKeyId) END;
    statement := format('CREATE OR REPLACE FUNCTION dms.%I(parents bigint[], waits boolean DEFAULT true) RETURNS void %s AS %L', name, settings, source);
    RETURN NEXT;

    -- referrers(ids): the edges of what refers to documents whose keys changed or came. Only a late reference can wait for one that comes.
    SELECT string_agg(format('
    referrers := ARRAY(
        SELECT e.ParentDocumentId FROM unnest(ids) AS w (id)
        CROSS JOIN LATERAL (SELECT ParentDocumentId FROM dms.ReferenceEdge WHERE ChildDocumentId = w.id AND ParentResourceKeyId = %2$s OFFSET 0) AS e
        %3$s);
    IF referrers <> ''{}'' THEN
        PERFORM dms.tracked_%1$s_edges(referrers);
    END IF;', f.parent_id, parent.ResourceKeyId, f.late), '' ORDER BY f.parent_id)
    INTO arrive
    FROM (
        SELECT f.parent_id, coalesce(string_agg(format('UNION
        SELECT p.DocumentId FROM unnest(ids) AS w (id)
        CROSS JOIN LATERAL (SELECT KeyValues FROM dms.Document WHERE DocumentId = w.id OFFSET 0) AS d
        CROSS JOIN LATERAL (SELECT r.* FROM dms.tracked_%1$s AS r WHERE %2$s LIMIT 1) AS s
        CROSS JOIN LATERAL (SELECT %3$s AS key FROM dms.tracked_%4$s AS r WHERE %5$s OFFSET 0) AS k
        CROSS JOIN LATERAL (%6$s) AS p', tracked_id, typed, dms.tracked_key_json(f.parent_id, 'r'), f.parent_id, f.matches,
                   dms.tracked_document(f.parent_id, 'k.key')), '
        ' ORDER BY f.name, f.constraint_id) FILTER (WHERE f.is_late), 'GROUP BY e.ParentDocumentId') AS late
        FROM dms.tracked_references(tracked_id) AS f WHERE f.child_id = tracked_id GROUP BY f.parent_id) AS f
    JOIN dms.TrackedTable AS parent ON parent.TrackedTableId = f.parent_id;
    name := format('tracked_%s_referrers', tracked_id);
    source := format('
DECLARE
    referrers bigint[];
BEGIN%s
END ', coalesce(arrive, ''));
    statement := format('CREATE OR REPLACE FUNCTION dms.%I(ids bigint[]) RETURNS void %s AS %L', name, settings, source);
    RETURN NEXT;
    arrive := CASE WHEN EXISTS (SELECT FROM dms.tracked_references(tracked_id) AS f WHERE f.child_id = tracked_id AND f.is_late)
        THEN format('PERFORM dms.tracked_%s_referrers(touched);', tracked_id) ELSE '' END;

    IF tracked.KeepsBodies THEN
        name := format('tracked_%s_keep', tracked_id);
        source := format('
BEGIN
    INSERT INTO dms.DocumentCache AS cache (DocumentId, DocumentJson, Etag, LastModifiedAt, ComputedVersion)
    SELECT d.DocumentId, b.body, encode(sha256(convert_to(b.body::text, ''UTF8'')), ''base64''), d.ContentLastModifiedAt, d.ContentVersion
    FROM (SELECT DISTINCT w.id FROM unnest(ids) AS w (id)) AS w
    CROSS JOIN LATERAL (SELECT * FROM dms.Document WHERE DocumentId = w.id OFFSET 0) AS d
    CROSS JOIN LATERAL (SELECT %s AS body FROM dms.tracked_%s AS r WHERE %s LIMIT 1) AS b
    ON CONFLICT (DocumentId) DO UPDATE SET DocumentJson = excluded.DocumentJson, Etag = excluded.Etag, LastModifiedAt = excluded.LastModifiedAt,
        ComputedVersion = excluded.ComputedVersion;
END ', dms.tracked_body(tracked_id, 'r'), tracked_id, typed);
        statement := format('CREATE OR REPLACE FUNCTION dms.%I(ids bigint[]) RETURNS void %s AS %L', name, settings, source);
        RETURN NEXT;
    END IF;

    -- remove(ids): documents whose rows are gone. Edges that point to them first: what refers to them has changed, or goes in a moment.
    name := format('tracked_%s_remove', tracked_id);
    source := '
BEGIN
    DELETE FROM dms.ReferenceEdge AS e
    USING unnest(ids) AS w (id)
    CROSS JOIN LATERAL (SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge WHERE ChildDocumentId = w.id OFFSET 0) AS f
    WHERE e.ParentDocumentId = f.ParentDocumentId AND e.ChildDocumentId = f.ChildDocumentId;
    DELETE FROM dms.Document WHERE DocumentId = ANY (ids);
END ';
    statement := format('CREATE OR REPLACE FUNCTION dms.%I(ids bigint[]) RETURNS void %s AS %L', name, settings, source);
    RETURN NEXT;

    -- insert: a document that is there already was left by a row that went past the triggers, or was made by what refers to the row.
    name := format('tracked_%s_insert', tracked_id);
    source := CASE WHEN link IS NULL THEN '' ELSE format('
    IF cardinality(new_ids) > 200 THEN  -- planned for so many rows: a kept plan would look up the same row again and again
        EXECUTE %7$L INTO orphans USING new_ids;
    ELSIF new_ids IS NOT NULL THEN
        WITH link AS MATERIALIZED (
            SELECT w.id AS parent, l.child, l.is_identity
            FROM unnest(new_ids) AS w (id)
            CROSS JOIN LATERAL (SELECT KeyValues FROM dms.Document WHERE DocumentId = w.id OFFSET 0) AS d
            CROSS JOIN LATERAL (SELECT r.* FROM dms.tracked_%1$s AS r WHERE %2$s LIMIT 1) AS r
            CROSS JOIN LATERAL (
            %3$s) AS l
        ), made AS (
            INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, IsIdentityComponent, ParentResourceKeyId)
            SELECT l.parent, l.child, bool_or(l.is_identity), %4$s FROM link AS l WHERE l.child IS NOT NULL GROUP BY l.parent, l.child
            ON CONFLICT (ParentDocumentId, ChildDocumentId) DO NOTHING
        )
        SELECT array_agg(DISTINCT l.parent) INTO orphans FROM link AS l WHERE l.child IS NULL;
    END IF;
    IF orphans IS NOT NULL THEN
        PERFORM dms.tracked_%1$s_edges(orphans);
    END IF;%5$s%6$s', tracked_id, typed, link, tracked.ResourceKeyId, CASE WHEN late IS NULL THEN '' ELSE format('
    SET CONSTRAINTS dms.TR_TrackedLate_Link DEFERRED;  -- the session may have said ALL IMMEDIATE, and deferred the foreign key again
    INSERT INTO dms.TrackedLate (TrackedTableId, DocumentId)
    SELECT %2$s, p.DocumentId
    FROM inserted AS %1$s
    CROSS JOIN LATERAL (SELECT r.* FROM dms.tracked_%2$s AS r WHERE %3$s %7$s) AS r
    CROSS JOIN LATERAL (SELECT %4$s AS key OFFSET 0) AS k
    CROSS JOIN LATERAL (%5$s) AS p
    WHERE %6$s
    ON CONFLICT DO NOTHING;', alias, tracked_id, equal_t, key_r, dms.tracked_document(tracked_id, 'k.key'), late, one_t) END, CASE WHEN unseen IS NULL THEN '' ELSE format('
    IF current_setting(''transaction_isolation'') IN (''repeatable read'', ''serializable'') AND EXISTS (
        SELECT FROM inserted AS %1$s
        CROSS JOIN LATERAL (SELECT r.* FROM dms.tracked_%2$s AS r WHERE %3$s %6$s) AS r
        WHERE %4$s) THEN
        %5$s
    END IF;', alias, tracked_id, equal_t, unseen, conflict, one_t) END, format('WITH "dmsjournal row" AS MATERIALIZED (
            SELECT w.id AS "dmsjournal document", %1$s, (SELECT true FROM dms.ReferenceEdge WHERE ParentDocumentId = w.id LIMIT 1) AS "dmsjournal linked"
            FROM unnest($1) AS w (id)
            CROSS JOIN LATERAL (SELECT KeyValues FROM dms.Document WHERE DocumentId = w.id OFFSET 0) AS d
            CROSS JOIN LATERAL (SELECT r.* FROM dms.tracked_%2$s AS r WHERE %3$s LIMIT 1) AS r
        ), link AS MATERIALIZED (
            %4$s
        ), made AS (
            INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, IsIdentityComponent, ParentResourceKeyId)
            SELECT l.parent, l.child, bool_or(l.is_identity), %5$s FROM link AS l WHERE l.child IS NOT NULL GROUP BY l.parent, l.child ORDER BY l.parent, l.child
        )
        SELECT array_agg(o.id) FROM (
            SELECT l.parent FROM link AS l WHERE l.child IS NULL
            UNION
            SELECT r."dmsjournal document" FROM "dmsjournal row" AS r WHERE r."dmsjournal linked") AS o (id)',
        dms.columns_of(links, 'r'), tracked_id, typed, linked, tracked.ResourceKeyId)) END;
    source := format('
DECLARE
    touched bigint[]; known bigint[]; orphans bigint[]; new_ids bigint[];
    known_keys jsonb[];
    stamped bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM inserted) THEN
        RETURN NULL;
    END IF;%10$s
    WITH wanted AS MATERIALIZED (
        SELECT %9$s k.key, d.DocumentId
        FROM inserted AS %2$s
        CROSS JOIN LATERAL (SELECT %3$s AS key FROM dms.tracked_%4$s AS r WHERE %5$s %11$s) AS k
        LEFT JOIN LATERAL (%6$s) AS d ON true
    ), made AS (
        INSERT INTO dms.Document (ResourceKeyId, KeyValues)
        SELECT %1$s, w.key FROM wanted AS w WHERE w.DocumentId IS NULL%7$s
    )
    SELECT array_agg(w.DocumentId), array_agg(w.key), %8$s INTO known, known_keys, new_ids FROM wanted AS w WHERE w.DocumentId IS NOT NULL;
    touched := new_ids;
    IF known IS NOT NULL THEN
        UPDATE dms.Document SET ContentVersion = NULL, IdentityVersion = NULL WHERE DocumentId = ANY (known);
        GET DIAGNOSTICS stamped = ROW_COUNT;
        IF stamped < cardinality(known) THEN  -- a fill has removed one meanwhile
            PERFORM dms.tracked_%4$s_ensure(known_keys);
        END IF;
        PERFORM dms.tracked_%4$s_edges(known);
        touched := touched || known;
    END IF;', tracked.ResourceKeyId, alias, key_r, tracked_id, equal_t, dms.tracked_document(tracked_id, 'k.key'),
        CASE WHEN keep || arrive = '' AND link IS NULL THEN '' ELSE ' RETURNING DocumentId' END,
        CASE WHEN keep || arrive = '' AND link IS NULL THEN 'NULL' ELSE '(SELECT array_agg(m.DocumentId) FROM made AS m)' END,
        CASE WHEN is_late THEN 'DISTINCT' ELSE '' END, CASE WHEN is_late THEN '' ELSE format('
    IF EXISTS (SELECT FROM dms.TrackedRekey WHERE TransactionId = pg_current_xact_id() AND TrackedTableId = %1$s) THEN  -- a row that has left its key in this statement takes its document along
        UPDATE dms.Document AS d SET KeyValues = w.KeyValues, ContentVersion = NULL, IdentityVersion = NULL
        FROM dms.TrackedRekey AS w WHERE w.TransactionId = pg_current_xact_id() AND w.TrackedTableId = %1$s AND d.DocumentId = w.DocumentId AND d.KeyValues <> w.KeyValues;
    END IF;', tracked_id) END, one_t)
    || source
    || CASE WHEN keep || arrive = '' THEN '' ELSE format('
    IF touched IS NOT NULL THEN
        %s
        %s
    END IF;', keep, arrive) END || '
    RETURN NULL;
END ';
    statement := format('CREATE OR REPLACE FUNCTION dms.%I() RETURNS trigger %s AS %L', name, settings, source);
    RETURN NEXT;

    -- rekey: a key that a row changes waits for its statement's trigger, so that two rows may swap theirs.
    name := format('tracked_%s_rekey', tracked_id);
    source := format('
DECLARE
    old_key jsonb := %1$s;
    new_key jsonb := %2$s;
BEGIN
    IF old_key = new_key THEN
        RETURN NULL;
    END IF;
    INSERT INTO dms.TrackedRekey (TrackedTableId, DocumentId, OldKeyValues, KeyValues, IsRelinked)
    SELECT %3$s, d.DocumentId, old_key, new_key, %5$s FROM (%4$s) AS d
    ON CONFLICT (TransactionId, TrackedTableId, DocumentId) DO NOTHING;
    IF NOT FOUND AND EXISTS (SELECT FROM dms.TrackedTable WHERE TrackedTableId = %3$s AND FilledAt IS NOT NULL) THEN
        UPDATE dms.TrackedRekey SET KeyValues = new_key, IsRelinked = IsRelinked OR %5$s
        WHERE TransactionId = pg_current_xact_id() AND TrackedTableId = %3$s AND KeyValues = old_key;  -- a row that changes twice
    END IF;
    RETURN NULL;
END ', dms.tracked_key_json(tracked_id, 'OLD'), dms.tracked_key_json(tracked_id, 'NEW'), tracked_id, dms.tracked_document(tracked_id, 'old_key'),
        CASE WHEN links = '{}' THEN 'false' ELSE format('record_image_ne(ROW(%s), ROW(%s))', dms.columns_of(links, 'OLD'), dms.columns_of(links, 'NEW')) END);
    statement := format('CREATE OR REPLACE FUNCTION dms.%I() RETURNS trigger %s AS %L', name, settings, source);
    RETURN NEXT;

    name := format('tracked_%s_update', tracked_id);
    watched := CASE WHEN tracked.WatchedColumns IS NULL AND NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = root AND a.attgenerated = 'v') THEN alias || '.*'
        WHEN tracked.WatchedColumns IS NULL THEN  -- a transition table has no virtual columns, which change with the columns that they are computed from
            dms.columns_of(ARRAY(SELECT a.attname FROM pg_attribute AS a
                                 WHERE a.attrelid = root AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> 'v' ORDER BY a.attnum), alias)
        ELSE dms.columns_of(ARRAY(SELECT DISTINCT c FROM unnest(shown || links || tracked.WatchedColumns) AS c ORDER BY c), alias) END;
    cells := format('%s, ROW(%s) AS "dmsjournal watched", ROW(%s) AS "dmsjournal shown"%s%s', dms.columns_of(keys, alias), watched, dms.columns_of(shown, alias),
        CASE WHEN links = '{}' THEN '' ELSE format(', ROW(%s) AS "dmsjournal linked"', dms.columns_of(links, alias)) END,
        CASE WHEN referred = '{}' THEN '' ELSE format(', ROW(%s) AS "dmsjournal referred"', dms.columns_of(referred, alias)) END);
    source := format('
DECLARE
    rekeyed bigint[]; keys jsonb[]; old_keys jsonb[]; relinked bigint[];
    touched bigint[]; renamed bigint[]; changed bigint[]; moved bigint[]; referred bigint[];
    missing bigint; gone bigint; doubles bigint[]; heirs bigint[]; rowless bigint[];
BEGIN
    IF NOT EXISTS (SELECT FROM inserted) THEN
        RETURN NULL;
    END IF;
    IF EXISTS (SELECT FROM dms.TrackedRekey WHERE TransactionId = pg_current_xact_id() AND TrackedTableId = %1$s) THEN
        WITH taken AS (
            DELETE FROM dms.TrackedRekey WHERE TransactionId = pg_current_xact_id() AND TrackedTableId = %1$s RETURNING DocumentId, OldKeyValues, KeyValues, IsRelinked
        )
        SELECT array_agg(t.DocumentId ORDER BY t.DocumentId), array_agg(t.KeyValues ORDER BY t.DocumentId),
               array_agg(t.DocumentId ORDER BY t.DocumentId) FILTER (WHERE t.IsRelinked), array_agg(t.OldKeyValues)
        INTO rekeyed, keys, relinked, old_keys FROM taken AS t;
        UPDATE dms.Document AS d SET KeyValues = w.key, ContentVersion = NULL, IdentityVersion = NULL
        FROM unnest(rekeyed, keys) AS w (id, key) WHERE d.DocumentId = w.id;%16$s
    END IF;
    WITH pair AS MATERIALIZED (
        SELECT %2$s, %3$s
        FROM (SELECT %4$s, true AS "dmsjournal new" FROM inserted AS %5$s
              UNION ALL
              SELECT %4$s, false AS "dmsjournal new" FROM deleted AS %5$s) AS s
        GROUP BY %2$s
    )
    SELECT array_agg(d.DocumentId ORDER BY d.DocumentId) FILTER (WHERE d.DocumentId IS NOT NULL AND p."dmsjournal shown" IS NOT FALSE),
           array_agg(d.DocumentId ORDER BY d.DocumentId) FILTER (WHERE d.DocumentId IS NOT NULL AND p."dmsjournal shown" IS FALSE),
           array_agg(d.DocumentId) FILTER (WHERE d.DocumentId IS NOT NULL AND %6$s),
           array_agg(d.DocumentId) FILTER (WHERE d.DocumentId IS NOT NULL AND %7$s),
           count(*) FILTER (WHERE k.key IS NOT NULL AND d.DocumentId IS NULL), count(*) FILTER (WHERE k.key IS NULL)
    INTO renamed, changed, moved, referred, missing, gone
    FROM pair AS p
    LEFT JOIN LATERAL (SELECT %18$s AS key FROM dms.tracked_%1$s AS r WHERE %9$s%19$s) AS k ON true
    LEFT JOIN LATERAL (%10$s) AS d ON true
    WHERE p."dmsjournal watched" IS NOT FALSE;
    relinked := relinked || moved;
    IF rekeyed IS NOT NULL THEN
        renamed := nullif(ARRAY(SELECT unnest(renamed) EXCEPT SELECT unnest(rekeyed) ORDER BY 1), ''{}'');
        changed := nullif(ARRAY(SELECT unnest(changed) EXCEPT SELECT unnest(rekeyed) ORDER BY 1), ''{}'');
        referred := referred || rekeyed;%15$s
    END IF;
    IF gone > 0 THEN  -- a row that moved to another partition, or that was deleted meanwhile
        SELECT array_agg(d.DocumentId ORDER BY d.DocumentId) INTO touched
        FROM deleted AS %5$s
        CROSS JOIN LATERAL (SELECT %11$s AS key OFFSET 0) AS k
        LEFT JOIN LATERAL (SELECT true AS is_there FROM dms.tracked_%1$s AS r WHERE %12$s AND %8$s = k.key LIMIT 1) AS r ON true
        CROSS JOIN LATERAL (%10$s) AS d
        WHERE r.is_there IS NULL;
        IF cardinality(touched) = 1 AND missing = 1 AND %17$s THEN
            UPDATE dms.Document SET KeyValues = w.key, ContentVersion = NULL, IdentityVersion = NULL
            FROM (SELECT k.key
                  FROM inserted AS %5$s
                  CROSS JOIN LATERAL (SELECT %8$s AS key FROM dms.tracked_%1$s AS r WHERE %12$s %20$s) AS k
                  LEFT JOIN LATERAL (%10$s) AS d ON true WHERE d.DocumentId IS NULL) AS w
            WHERE DocumentId = touched[1];
            rekeyed := rekeyed || touched;
            relinked := relinked || touched;
            referred := referred || touched;
            missing := 0;
        ELSIF touched IS NOT NULL THEN
            PERFORM dms.tracked_%1$s_remove(touched);
        END IF;
    END IF;
    touched := NULL;
    IF missing > 0 THEN  -- rows that no fill has reached, or that came past the triggers
        WITH made AS (
            %13$s
            RETURNING DocumentId
        )
        SELECT array_agg(DocumentId) INTO touched FROM made;
        relinked := relinked || touched;
    END IF;
    IF renamed IS NOT NULL THEN
        UPDATE dms.Document SET ContentVersion = NULL, IdentityVersion = NULL WHERE DocumentId = ANY (renamed);
    END IF;
    IF changed IS NOT NULL THEN
        UPDATE dms.Document SET ContentVersion = NULL WHERE DocumentId = ANY (changed);
    END IF;
    IF relinked IS NOT NULL THEN
        PERFORM dms.tracked_%1$s_edges(relinked);
    END IF;
    touched := touched || referred;
    IF touched IS NOT NULL THEN
        PERFORM dms.tracked_%1$s_referrers(touched);
    END IF;
    %14$s
    RETURN NULL;
END ', tracked_id, dms.columns_of(keys, 's'),
        (SELECT string_agg(format('%2$s[1] *<> %3$s[1] OR (count(*) > 2 AND (%2$s[cardinality(%2$s)] *<> %3$s[1] OR %2$s[cardinality(%2$s)] *<> %3$s[cardinality(%3$s)])) AS %1$I',
                c, format('(array_agg(s.%I) FILTER (WHERE s."dmsjournal new"))', c), format('(array_agg(s.%I) FILTER (WHERE NOT s."dmsjournal new"))', c)), ',
               ' ORDER BY c)
         FROM unnest(ARRAY['dmsjournal watched', 'dmsjournal shown'] || CASE WHEN links <> '{}' THEN ARRAY['dmsjournal linked'] END
                     || CASE WHEN referred <> '{}' THEN ARRAY['dmsjournal referred'] END) AS c),
        cells, alias, CASE WHEN links = '{}' THEN 'false' ELSE 'p."dmsjournal linked" IS NOT FALSE' END,
        CASE WHEN referred = '{}' THEN 'false' ELSE 'p."dmsjournal referred" IS NOT FALSE' END, key_r, equal_p, dms.tracked_document(tracked_id, 'k.key'),
        key_t, equal_t, format(create_w, format('SELECT k.key FROM inserted AS %s CROSS JOIN LATERAL (SELECT %s AS key FROM dms.tracked_%s AS r WHERE %s %s) AS k',
                                                alias, key_r, tracked_id, equal_t, one_t)),
        CASE WHEN keep = '' THEN '' ELSE format('touched := touched || renamed || changed || rekeyed || relinked;
    IF touched IS NOT NULL THEN
        %s
    END IF;', keep) END,
        CASE WHEN is_late THEN format('
        -- Another row may have one of the keys for a while, and its document with it: what each document stands for is looked at again.
        PERFORM dms.tracked_%1$s_ensure(old_keys);
        touched := ARRAY(SELECT d.DocumentId FROM (SELECT DISTINCT w.key FROM unnest(keys || old_keys) AS w (key)) AS w CROSS JOIN LATERAL (%2$s) AS d);
        relinked := relinked || rekeyed || touched;
        renamed := ARRAY(SELECT unnest(renamed || touched) EXCEPT SELECT unnest(rekeyed) ORDER BY 1);
        changed := ARRAY(SELECT unnest(changed) EXCEPT SELECT unnest(touched) ORDER BY 1);', tracked_id,
            replace(dms.tracked_document(tracked_id, 'w.key'), ' LIMIT 1', ' OFFSET 0')) ELSE '' END,
        CASE WHEN is_late THEN '' ELSE format('
        -- What ran before this trigger may have made a document for a row under its new key, and a row that went from the key has left its own: both
        -- give way to the document that comes with the row.
        SELECT array_agg(f.DocumentId), array_agg(w.id) INTO doubles, heirs
        FROM unnest(rekeyed, keys) AS w (id, key) CROSS JOIN LATERAL (%1$s) AS f
        WHERE f.DocumentId NOT IN (SELECT unnest(rekeyed));  -- hashed: an array would be read through for each
        IF doubles IS NOT NULL THEN
            INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, IsIdentityComponent)
            SELECT e.ParentDocumentId, w.heir, bool_or(e.IsIdentityComponent)
            FROM unnest(doubles, heirs) AS w (id, heir)
            CROSS JOIN LATERAL (SELECT ParentDocumentId, IsIdentityComponent FROM dms.ReferenceEdge WHERE ChildDocumentId = w.id OFFSET 0) AS e
            GROUP BY e.ParentDocumentId, w.heir
            ON CONFLICT (ParentDocumentId, ChildDocumentId) DO NOTHING;
            PERFORM dms.tracked_%2$s_remove(doubles);
        END IF;
        -- A row whose key was changed once more, or that was deleted, before this trigger ran.
        SELECT array_agg(d.id) INTO rowless
        FROM unnest(rekeyed, keys) AS d (id, KeyValues)
        LEFT JOIN LATERAL (SELECT true AS is_there FROM dms.tracked_%2$s AS r WHERE %3$s LIMIT 1) AS r ON true
        WHERE r.is_there IS NULL;
        IF rowless IS NOT NULL THEN
            PERFORM dms.tracked_%2$s_remove(rowless);
            rekeyed := nullif(ARRAY(SELECT unnest(rekeyed) EXCEPT SELECT unnest(rowless) ORDER BY 1), ''{}'');
            relinked := nullif(ARRAY(SELECT unnest(relinked) EXCEPT SELECT unnest(rowless) ORDER BY 1), ''{}'');
        END IF;', replace(dms.tracked_document(tracked_id, 'w.key'), ' LIMIT 1', ' OFFSET 0'), tracked_id, typed) END,
        CASE WHEN EXISTS (SELECT FROM pg_class AS c WHERE c.oid = root AND c.relkind = 'p') OR EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhparent = root)
             THEN 'true' ELSE 'false' END,
        CASE WHEN is_late THEN 'DISTINCT ' ELSE '' END || key_r, CASE WHEN is_late THEN '' ELSE ' LIMIT 1' END, one_t);
    statement := format('CREATE OR REPLACE FUNCTION dms.%I() RETURNS trigger %s AS %L', name, settings, source);
    RETURN NEXT;

    -- Without an action of its foreign key, what refers to a row that goes stays where another row has come with the same values.
    SELECT string_agg(format('
        left_over := ARRAY(SELECT d.DocumentId FROM dms.Document AS d WHERE d.DocumentId = ANY (held) AND d.ResourceKeyId = %2$s ORDER BY 1);
        IF left_over <> ''{}'' THEN
            PERFORM dms.tracked_%1$s_edges(left_over);
        END IF;', f.parent_id, t.ResourceKeyId), '' ORDER BY f.parent_id)
    INTO stays
    FROM (SELECT DISTINCT f.parent_id FROM dms.tracked_references(tracked_id) AS f JOIN pg_constraint AS con ON con.oid = f.constraint_id
          WHERE f.child_id = tracked_id AND con.confdeltype = 'a') AS f
    JOIN dms.TrackedTable AS t ON t.TrackedTableId = f.parent_id;
    stays := coalesce(stays, '');
    name := format('tracked_%s_delete', tracked_id);
    source := format('
DECLARE
    gone bigint[]; touched bigint[]; held bigint[]; left_over bigint[]; extra bigint[];
BEGIN
    IF NOT EXISTS (SELECT FROM deleted) THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(d.DocumentId ORDER BY d.DocumentId) FILTER (WHERE r.is_there IS NULL), array_agg(d.DocumentId) FILTER (WHERE r.is_there)
    INTO gone, touched
    FROM deleted AS %1$s
    CROSS JOIN LATERAL (SELECT %2$s AS key OFFSET 0) AS k
    CROSS JOIN LATERAL (%3$s) AS d
    LEFT JOIN LATERAL (SELECT true AS is_there FROM dms.tracked_%4$s AS r WHERE %5$s AND %10$s = k.key LIMIT 1) AS r ON true;
%9$s    IF touched IS NOT NULL THEN  -- another row has come under the key meanwhile
        UPDATE dms.Document SET ContentVersion = NULL, IdentityVersion = NULL WHERE DocumentId = ANY (touched);
        PERFORM dms.tracked_%4$s_edges(touched);
        %6$s
    END IF;
    IF gone IS NOT NULL THEN%7$s
        PERFORM dms.tracked_%4$s_remove(gone);%8$s
    END IF;
    RETURN NULL;
END ', alias, key_t, dms.tracked_document(tracked_id, 'k.key'), tracked_id, equal_t, keep, CASE WHEN stays = '' THEN '' ELSE '
        held := ARRAY(
            SELECT DISTINCT e.ParentDocumentId FROM unnest(gone) AS w (id)
            CROSS JOIN LATERAL (SELECT ParentDocumentId FROM dms.ReferenceEdge WHERE ChildDocumentId = w.id OFFSET 0) AS e);' END, stays, CASE WHEN is_late THEN format('    IF touched IS NOT NULL THEN  -- two rows had the key for a while, and two documents: as many stay as rows do
        SELECT array_agg(f.id) INTO extra
        FROM (
            SELECT c.DocumentId AS id, row_number() OVER (PARTITION BY d.KeyValues ORDER BY c.ContentVersion DESC, c.DocumentId) AS place,
                   (SELECT count(*) FROM dms.tracked_%1$s AS r WHERE %2$s) AS rows
            FROM (SELECT DISTINCT o.KeyValues FROM dms.Document AS o WHERE o.DocumentId = ANY (touched)) AS d
            CROSS JOIN LATERAL (%3$s) AS f
            JOIN dms.Document AS c ON c.DocumentId = f.DocumentId) AS f
        WHERE f.place > f.rows;
        IF extra IS NOT NULL THEN
            gone := gone || extra;
            touched := ARRAY(SELECT f.DocumentId FROM (SELECT DISTINCT o.KeyValues FROM dms.Document AS o WHERE o.DocumentId = ANY (touched)) AS d
                             CROSS JOIN LATERAL (%3$s) AS f WHERE f.DocumentId NOT IN (SELECT unnest(extra)));
        END IF;
    END IF;
', tracked_id, typed, replace(dms.tracked_document(tracked_id, 'd.KeyValues'), ' LIMIT 1', ' OFFSET 0')) ELSE '' END, key_r);
    statement := format('CREATE OR REPLACE FUNCTION dms.%I() RETURNS trigger %s AS %L', name, settings, source);
    RETURN NEXT;

    -- sweep(after, is_linked, is_current): removes documents without a row, or with the key of an older one, among the next 10,000 of the resource; gives the last that it looked at, null at
    -- the end. They are locked before they are looked at again: a row that comes under such a key stamps the document (insert). The others get their
    -- edges where they are not linked, and a stamp where they are not current.
    name := format('tracked_%s_sweep', tracked_id);
    source := format('
DECLARE
    last bigint; gone bigint[]; rest bigint[];
BEGIN
    SELECT max(d.DocumentId), array_agg(d.DocumentId ORDER BY d.DocumentId) FILTER (WHERE r.is_there IS NULL OR o.DocumentId IS NOT NULL), array_agg(d.DocumentId ORDER BY d.DocumentId)
               FILTER (WHERE r.is_there AND o.DocumentId IS NULL)
    INTO last, gone, rest
    FROM (SELECT DocumentId, KeyValues FROM dms.Document WHERE ResourceKeyId = %1$s AND DocumentId > after ORDER BY ResourceKeyId, DocumentId LIMIT 10000) AS d
    LEFT JOIN LATERAL (SELECT true AS is_there FROM dms.tracked_%2$s AS r WHERE %3$s LIMIT 1) AS r ON true
    LEFT JOIN LATERAL (%5$s) AS o ON true;
    IF gone IS NOT NULL THEN
        PERFORM DocumentId FROM dms.Document WHERE DocumentId = ANY (gone) ORDER BY DocumentId FOR UPDATE;
        SELECT array_agg(d.DocumentId ORDER BY d.DocumentId) INTO gone
        FROM (SELECT DocumentId, KeyValues FROM dms.Document WHERE DocumentId = ANY (gone)) AS d
        LEFT JOIN LATERAL (SELECT true AS is_there FROM dms.tracked_%2$s AS r WHERE %3$s LIMIT 1) AS r ON true
        LEFT JOIN LATERAL (%5$s) AS o ON true
        WHERE r.is_there IS NULL OR o.DocumentId IS NOT NULL;
    END IF;
    IF gone IS NOT NULL THEN
        PERFORM dms.tracked_%2$s_remove(gone);
    END IF;
    IF NOT is_current THEN
        UPDATE dms.Document SET ContentVersion = NULL, IdentityVersion = NULL WHERE DocumentId = ANY (rest);
        %4$s
    END IF;
    IF NOT is_linked AND rest IS NOT NULL THEN
        PERFORM dms.tracked_%2$s_edges(rest);
    END IF;
    RETURN last;
END ', tracked.ResourceKeyId, tracked_id, typed, replace(keep, 'touched', 'rest'),
        replace(dms.tracked_document(tracked_id, 'd.KeyValues'), ' LIMIT 1', ' AND f.DocumentId < d.DocumentId LIMIT 1'));
    statement := format('CREATE OR REPLACE FUNCTION dms.%I(after bigint, is_linked boolean, is_current boolean) RETURNS bigint %s AS %L', name, settings, source);
    RETURN NEXT;

    -- truncate: a part of the table may have been emptied, so each document is looked at.
    name := format('tracked_%s_truncate', tracked_id);
    source := format('
DECLARE
    after bigint := -9223372036854775808;
BEGIN
    WHILE after IS NOT NULL LOOP
        after := dms.tracked_%s_sweep(after, true, true);
    END LOOP;
    RETURN NULL;
END ', tracked_id);
    statement := format('CREATE OR REPLACE FUNCTION dms.%I() RETURNS trigger %s AS %L', name, settings, source);
    RETURN NEXT;

    -- fill(low, high): documents for the rows of some blocks that have none; it passes by a row that a writer has locked. Gives how many it made, and how
    -- many it passed by.
    name := format('tracked_%s_fill', tracked_id);
    source := format('
DECLARE
    locked jsonb[];
    touched bigint[];
BEGIN
    SELECT array_agg(l.key) INTO locked FROM (
        SELECT %1$s AS key FROM dms.tracked_%2$s AS r
        LEFT JOIN LATERAL (SELECT %1$s AS key OFFSET 0) AS k ON true
        LEFT JOIN LATERAL (%3$s) AS d ON true
        WHERE r."dmsjournal place" >= format(''(%%s,0)'', low)::tid AND r."dmsjournal place" < format(''(%%s,0)'', high)::tid AND d.DocumentId IS NULL
        FOR NO KEY UPDATE OF r SKIP LOCKED) AS l;
    WITH made AS (
        %4$s
        RETURNING DocumentId
    )
    SELECT array_agg(DocumentId) INTO touched FROM made;
    IF touched IS NOT NULL THEN
        PERFORM dms.tracked_%2$s_edges(touched, false);
        %5$s
        %6$s
    END IF;
    made := coalesce(cardinality(touched), 0);
    SELECT count(*) INTO passed
    FROM dms.tracked_%2$s AS r
    LEFT JOIN LATERAL (SELECT %1$s AS key OFFSET 0) AS k ON true
    LEFT JOIN LATERAL (%3$s) AS d ON true
    WHERE r."dmsjournal place" >= format(''(%%s,0)'', low)::tid AND r."dmsjournal place" < format(''(%%s,0)'', high)::tid AND d.DocumentId IS NULL;
END ', key_r, tracked_id, dms.tracked_document(tracked_id, 'k.key'), format(create_w, 'SELECT l.key FROM unnest(locked) AS l (key)'), keep, arrive);
    statement := format('CREATE OR REPLACE FUNCTION dms.%I(low bigint, high bigint, OUT made bigint, OUT passed bigint) %s AS %L', name, settings, source);
    RETURN NEXT;

    kind := 'trigger';
    source := NULL;
    FOR relation, target IN
        WITH RECURSIVE part AS (
            SELECT root AS id
            UNION
            SELECT h.inhrelid FROM part AS p JOIN pg_inherits AS h ON h.inhparent = p.id
        )
        SELECT p.id, format('%I.%I', n.nspname, c.relname) FROM part AS p JOIN pg_class AS c ON c.oid = p.id JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p') ORDER BY p.id <> root, 2
    LOOP
        name := format('zz_dmsjournal_%s_insert', tracked_id);
        type := 4;  -- as pg_trigger.tgtype has them
        statement := format('CREATE OR REPLACE TRIGGER %I AFTER INSERT ON %s REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION dms.tracked_%s_insert()',
            name, target, tracked_id);
        RETURN NEXT;
        name := format('zz_dmsjournal_%s_update', tracked_id);
        type := 16;
        statement := format('CREATE OR REPLACE TRIGGER %I AFTER UPDATE ON %s REFERENCING OLD TABLE AS deleted NEW TABLE AS inserted FOR EACH STATEMENT '
            'EXECUTE FUNCTION dms.tracked_%s_update()', name, target, tracked_id);
        RETURN NEXT;
        name := format('zz_dmsjournal_%s_delete', tracked_id);
        type := 8;
        statement := format('CREATE OR REPLACE TRIGGER %I AFTER DELETE ON %s REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION dms.tracked_%s_delete()',
            name, target, tracked_id);
        RETURN NEXT;
        name := format('zz_dmsjournal_%s_truncate', tracked_id);
        type := 32;
        statement := format('CREATE OR REPLACE TRIGGER %I AFTER TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION dms.tracked_%s_truncate()', name, target, tracked_id);
        RETURN NEXT;
        IF relation = root OR NOT (SELECT c.relispartition FROM pg_class AS c WHERE c.oid = relation) THEN  -- of a partition, the server makes it
            name := format('zz_dmsjournal_%s_rekey', tracked_id);
            type := 17;
            statement := format('CREATE OR REPLACE TRIGGER %I AFTER UPDATE ON %s FOR EACH ROW WHEN (pg_catalog.record_image_ne(ROW(%s), ROW(%s))) '
                'EXECUTE FUNCTION dms.tracked_%s_rekey()', name, target, dms.columns_of(keys, 'OLD'), dms.columns_of(keys, 'NEW'), tracked_id);
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION dms.tracking_of(smallint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracking_of(smallint);

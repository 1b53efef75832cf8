-- sql/postgres/queries/schema/adopt_obstacles.sql: what in the catalog stands in the way of an adoption, and what is worth a note.
-- Binds: names (JSON array of the relations and functions that the migrations make), triggers (the same), content_columns (JSON array).
-- Gives: severity (danger, obstacle or note), subject, found, remedy. After adopt/model.sql, in the same transaction. A danger is an obstacle where
-- a read of the rows could already run code of another role with this role's rights: nothing is read then.
WITH taken AS (
    SELECT value AS name FROM jsonb_array_elements_text(CAST(:names AS jsonb))
), named AS (
    SELECT count(*) = 3 AS has_names FROM pg_attribute
    WHERE attrelid = to_regclass('dms.Document') AND attname IN ('projectname', 'resourcename', 'resourceversion') AND NOT attisdropped
), extra AS (  -- columns of other programs
    SELECT t.name AS table_name, a.attname AS name, a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AS demanded,
           n.has_names AND a.attname IN ('projectname', 'resourcename', 'resourceversion') AS is_name
    FROM pg_temp.fitted_table AS t
    JOIN pg_attribute AS a ON a.attrelid = t.found AND a.attnum > 0 AND NOT a.attisdropped
    CROSS JOIN named AS n
    WHERE NOT EXISTS (SELECT FROM pg_attribute AS m WHERE m.attrelid = t.model AND m.attname = a.attname AND m.attnum > 0)
), part AS (  -- of a table: what can run code when rows are read or written
    SELECT t.name AS table_name, 'pg_class'::regclass AS classid, t.found AS objid, 'a column' AS called FROM pg_temp.fitted_table AS t
    UNION ALL
    SELECT t.name, 'pg_trigger'::regclass, g.oid, 'trigger ' || g.tgname FROM pg_temp.fitted_table AS t JOIN pg_trigger AS g ON g.tgrelid = t.found
    UNION ALL
    SELECT t.name, 'pg_attrdef'::regclass, f.oid, 'a default or generated column' FROM pg_temp.fitted_table AS t JOIN pg_attrdef AS f ON f.adrelid = t.found
    UNION ALL
    SELECT t.name, 'pg_constraint'::regclass, k.oid, 'constraint ' || k.conname FROM pg_temp.fitted_table AS t JOIN pg_constraint AS k ON k.conrelid = t.found
    UNION ALL
    SELECT t.name, 'pg_class'::regclass, i.indexrelid, 'an index' FROM pg_temp.fitted_table AS t JOIN pg_index AS i ON i.indrelid = t.found
    UNION ALL
    SELECT t.name, 'pg_policy'::regclass, p.oid, 'policy ' || p.polname FROM pg_temp.fitted_table AS t JOIN pg_policy AS p ON p.polrelid = t.found
    UNION ALL
    SELECT t.name, 'pg_statistic_ext'::regclass, x.oid, 'statistics ' || x.stxname
    FROM pg_temp.fitted_table AS t JOIN pg_statistic_ext AS x ON x.stxrelid = t.found
), used AS (
    SELECT part.table_name, part.called, pg_describe_object(d.refclassid, d.refobjid, 0) AS object,
           coalesce(p.proowner, o.oprowner, y.typowner) AS owner
    FROM part
    JOIN pg_depend AS d ON d.classid = part.classid AND d.objid = part.objid
    LEFT JOIN pg_proc AS p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
    LEFT JOIN pg_operator AS o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
    LEFT JOIN pg_type AS y ON d.refclassid = 'pg_type'::regclass AND y.oid = d.refobjid
)
SELECT DISTINCT 'danger' AS severity, 'dms.' || used.table_name AS subject,
       format('%s uses %s of role %s, which could make it run with the rights of %s', used.called, used.object, used.owner::regrole, current_user) AS found,
       'Drop it, or give it to the installing role (ALTER ... OWNER TO) after you have read it.' AS remedy
FROM used JOIN pg_roles AS r ON r.oid = used.owner
WHERE r.rolname <> current_user AND NOT r.rolsuper
UNION ALL
SELECT CASE WHEN c.relkind IN ('r', 'p') THEN 'obstacle' ELSE 'danger' END, 'dms.' || t.name, 'it is no ordinary table',
       'Move the rows into a table that is neither a view, nor partitioned, nor a child or parent of another table.'
FROM pg_temp.fitted_table AS t JOIN pg_class AS c ON c.oid = t.found
WHERE c.relkind <> 'r' OR c.relpersistence = 't' OR EXISTS (SELECT FROM pg_inherits WHERE t.found IN (inhrelid, inhparent))
UNION ALL
SELECT 'danger', 'dms.' || t.name, format('role %s does not own it, %s does', current_user, c.relowner::regrole),  -- a superuser neither
       'Adopt as the owner, or ALTER TABLE ... OWNER TO the installing role.'
FROM pg_temp.fitted_table AS t JOIN pg_class AS c ON c.oid = t.found
WHERE c.relowner::regrole::text <> quote_ident(current_user)
UNION ALL
SELECT 'obstacle', 'schema dms', format('role %s may not create anything there', current_user), format('GRANT CREATE ON SCHEMA dms TO %I.', current_user)
WHERE NOT has_schema_privilege('dms', 'CREATE')
UNION ALL
SELECT 'obstacle', 'dms.' || t.name, 'it is unlogged: a crash empties it, and the journals stay', format('ALTER TABLE dms.%I SET LOGGED, in a maintenance window: it writes the table.', t.name)
FROM pg_temp.fitted_table AS t JOIN pg_class AS c ON c.oid = t.found
WHERE c.relpersistence = 'u'
UNION ALL
SELECT 'obstacle', 'dms.' || t.name, format('rule %s rewrites statements past the triggers', r.rulename), format('DROP RULE %I ON dms.%I: let a trigger do what it does.', r.rulename, t.name)
FROM pg_temp.fitted_table AS t JOIN pg_class AS c ON c.oid = t.found AND c.relkind = 'r' JOIN pg_rewrite AS r ON r.ev_class = t.found
UNION ALL
SELECT 'obstacle', 'dms.' || t.name, 'row level security is forced on its owner, whose triggers must see every row',
       format('ALTER TABLE dms.%I NO FORCE ROW LEVEL SECURITY.', t.name)
FROM pg_temp.fitted_table AS t JOIN pg_class AS c ON c.oid = t.found
WHERE c.relforcerowsecurity
UNION ALL
SELECT 'note', 'dms.' || t.name, 'row level security: a reader from which it hides rows is refused',
       format('ALTER TABLE dms.%I DISABLE ROW LEVEL SECURITY, or give those readers BYPASSRLS.', t.name)
FROM pg_temp.fitted_table AS t JOIN pg_class AS c ON c.oid = t.found
WHERE c.relrowsecurity AND NOT c.relforcerowsecurity
UNION ALL
SELECT 'obstacle', format('dms.%s.%s', table_name, name), format('its type is %s, not %s', found_type, type),
       format('ALTER TABLE dms.%I ALTER COLUMN %I TYPE %s, in a maintenance window: it rewrites the table. Views on the column go first.', table_name, name, type)
FROM pg_temp.fitted_column
WHERE present AND found_type <> type
UNION ALL
SELECT 'obstacle', format('dms.%s.%s', table_name, name), 'it is a generated column, which no program can write',
       format('ALTER TABLE dms.%I ALTER COLUMN %I DROP EXPRESSION, or DROP COLUMN.', table_name, name)
FROM pg_temp.fitted_column
WHERE present AND generated
UNION ALL
SELECT 'obstacle', format('dms.%s.%s', c.table_name, c.name), 'the column is missing',
       CASE WHEN c.name = 'resourcekeyid' AND c.table_name = 'document'
            THEN 'Add it, or the columns ProjectName, ResourceName, ResourceVersion: nothing tells a document''s resource.'
            ELSE 'Add it and fill it: only you know what belongs there.' END
FROM pg_temp.fitted_column AS c CROSS JOIN named AS n
WHERE NOT c.present AND c.required AND (c.default_value IS NULL OR c.default_value = 'gen_random_uuid()')
  AND c.name <> 'parentresourcekeyid' AND NOT (c.name = 'resourcekeyid' AND c.table_name = 'document' AND n.has_names)
  AND NOT EXISTS (  -- adopt_cased.sql tells it
      SELECT FROM pg_attribute AS a JOIN pg_temp.fitted_table AS t ON t.found = a.attrelid WHERE t.name = c.table_name AND lower(a.attname) = c.name)
UNION ALL
SELECT 'obstacle', 'dms.ResourceKey', 'the table is missing, and nothing else tells what a ResourceKeyId means',
       'Create it as sql/postgres/tables/ResourceKey.v1.sql does, and insert the resources with their ids.'
FROM named AS n
WHERE to_regclass('dms.ResourceKey') IS NULL AND NOT n.has_names
UNION ALL
SELECT 'obstacle', 'dms.' || c.table_name, format('its primary key is another: %s', pg_get_constraintdef(other.oid)),
       format('ALTER TABLE dms.%I DROP CONSTRAINT %I: adopt makes %s. Keep it as a unique constraint where it is needed.', c.table_name, other.conname, c.definition)
FROM pg_temp.fitted_constraint AS c
JOIN pg_constraint AS other ON other.conrelid = c.found_table AND other.contype = 'p'
WHERE c.type = 'p' AND pg_get_constraintdef(other.oid) <> c.definition
UNION ALL
SELECT 'obstacle', format('constraint %s on dms.%s', name, table_name), format('it is another one: %s', named_definition),
       format('ALTER TABLE dms.%I RENAME CONSTRAINT %I TO ...: the name is needed.', table_name, name)
FROM pg_temp.fitted_constraint
WHERE named IS NOT NULL AND named_definition <> definition AND type <> 'f'
UNION ALL
SELECT 'obstacle', format('index dms.%s', name), format('it is another one: %s', found_definition), format('ALTER INDEX dms.%I RENAME TO ...: the name is needed.', name)
FROM pg_temp.fitted_index
WHERE found IS NOT NULL AND found_definition <> definition
UNION ALL
SELECT 'obstacle', CASE WHEN c.relkind IN ('i', 'I') THEN 'index ' ELSE '' END || 'dms.' || c.relname, 'the name is needed', 'Rename it, move it to another schema, or drop it.'
FROM pg_class AS c JOIN taken AS t ON t.name = c.relname LEFT JOIN pg_index AS x ON x.indexrelid = c.oid
WHERE c.relnamespace = to_regnamespace('dms') AND c.relname NOT IN (SELECT name FROM pg_temp.fitted_table)
  AND c.oid NOT IN (SELECT found FROM pg_temp.old_journal) AND (x.indrelid IS NULL OR x.indrelid NOT IN (SELECT found FROM pg_temp.old_journal))
  AND NOT EXISTS (SELECT FROM pg_temp.fitted_index AS i WHERE i.name = c.relname)  -- looked at by itself
  AND NOT EXISTS (SELECT FROM pg_temp.fitted_constraint AS k WHERE k.name = c.relname AND k.found_table = x.indrelid)
  AND coalesce(obj_description(c.oid, 'pg_class'), '') NOT LIKE 'dmsjournal:%' AND NOT (c.relkind = 'S' AND c.relname = 'changeversionsequence')
UNION ALL
SELECT 'obstacle', 'dms.' || c.relname, format('dms.%I is to be kept under this name', j.name), 'Rename it, move it to another schema, or drop it.'
FROM pg_temp.old_journal AS j JOIN pg_class AS c ON c.relnamespace = to_regnamespace('dms') AND c.relname = j.kept_as
UNION ALL
SELECT 'obstacle', format('trigger %s on %s', g.name, g.found::regclass), format('its function %s names a journal of dms, which gets other columns: it would fail', g.function),
       'Drop it, or let its function name the journal as it is kept: ..._before_adoption. The journal''s own triggers see what is written to dms.Document.'
FROM pg_temp.old_trigger AS g
WHERE NOT g.is_replaced
UNION ALL
SELECT 'note', 'dms.' || j.name, format('it is kept as dms.%I, with what it holds, and the journal of that name begins anew', j.kept_as),
       'Programs that write or read it themselves fail from the moment on that the triggers come: let them read the journal as docs/dba/adopt.md tells.'
FROM pg_temp.old_journal AS j
UNION ALL
SELECT 'note', format('trigger %s on dms.document', g.name), format('its function %s names a journal of dms: it is disabled when ours come, and dropped at the end', g.function),
       'What else it does ends as well: give that to a trigger of its own.'
FROM pg_temp.old_trigger AS g
WHERE g.is_replaced
UNION ALL
SELECT 'obstacle', 'type dms.' || y.typname, 'a table of that name is needed', 'Rename it, move it to another schema, or drop it.'
FROM pg_type AS y JOIN taken AS t ON t.name = y.typname
WHERE y.typnamespace = to_regnamespace('dms')
  AND NOT EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = y.typnamespace AND c.relname = y.typname)
UNION ALL
SELECT 'obstacle', format('function dms.%s()', p.proname), 'the name is needed', 'Rename it, move it to another schema, or drop it.'
FROM pg_proc AS p JOIN taken AS t ON t.name = p.proname
WHERE p.pronamespace = to_regnamespace('dms') AND p.pronargs = 0 AND coalesce(obj_description(p.oid, 'pg_proc'), '') NOT LIKE 'dmsjournal:%'
UNION ALL
SELECT 'obstacle', format('trigger %s on dms.%s', g.tgname, t.name), 'the name is needed', format('ALTER TRIGGER %I ON dms.%I RENAME TO ..., or drop it.', g.tgname, t.name)
FROM pg_temp.fitted_table AS t JOIN pg_trigger AS g ON g.tgrelid = t.found AND NOT g.tgisinternal
WHERE g.tgname IN (SELECT value FROM jsonb_array_elements_text(CAST(:triggers AS jsonb)))
UNION ALL
SELECT 'obstacle', format('trigger %s on dms.%s', g.tgname, t.name), 'it fires after ours, by its name, and may overwrite what they set',
       format('ALTER TRIGGER %I ON dms.%I RENAME TO ..., a name before zz_, or drop it.', g.tgname, t.name)
FROM pg_temp.fitted_table AS t JOIN pg_trigger AS g ON g.tgrelid = t.found AND NOT g.tgisinternal
WHERE g.tgtype & 3 = 3 AND g.tgtype & 20 <> 0  -- before, each row; insert or update
  AND g.tgname > CAST((SELECT min(value) FROM jsonb_array_elements_text(CAST(:triggers AS jsonb)) WHERE value LIKE 'zz\_' || t.name || '\_%') AS name)
UNION ALL
SELECT 'obstacle', 'sequence dms.ChangeVersionSequence',
       format('it is %s by %s, cache %s, from %s to %s%s', s.seqtypid::regtype, s.seqincrement, s.seqcache, s.seqmin, s.seqmax, CASE WHEN s.seqcycle THEN ', cycling' END),
       'ALTER SEQUENCE dms.ChangeVersionSequence AS bigint INCREMENT BY 1 CACHE 1 MINVALUE 1 NO MAXVALUE NO CYCLE; as its owner.'
FROM pg_sequence AS s JOIN pg_class AS c ON c.oid = s.seqrelid
WHERE s.seqrelid = to_regclass('dms.ChangeVersionSequence')
  AND (s.seqtypid <> 'bigint'::regtype OR s.seqincrement <> 1 OR s.seqcache <> 1 OR s.seqmin <> 1 OR s.seqmax <> 9223372036854775807
       OR s.seqcycle OR NOT pg_has_role(c.relowner, 'USAGE'))
UNION ALL
SELECT 'obstacle', 'sequence dms.ChangeVersionSequence', format('it is at %s', at.value),
       'Stamps end at 9223372036854775807, and go on above it. Set it back: adopt raises it above the documents'' versions.'
FROM (SELECT CASE WHEN has_sequence_privilege(seqrelid, 'SELECT') THEN pg_sequence_last_value(seqrelid) END AS value
      FROM pg_sequence WHERE seqrelid = to_regclass('dms.ChangeVersionSequence')) AS at
WHERE at.value > 9000000000000000000
UNION ALL
SELECT 'note', format('dms.%s.%s', table_name, name), 'NOT NULL without a default: the Python writer does not know the column, and cannot insert',
       format('ALTER TABLE dms.%I ALTER COLUMN %I SET DEFAULT ..., or DROP NOT NULL, before it is used.', table_name, name)
FROM extra
WHERE demanded AND NOT is_name AND table_name <> 'resourcekey'
UNION ALL
SELECT 'note', 'dms.Document', 'programs go on writing ProjectName, ResourceName, ResourceVersion, and need not know ResourceKeyId',
       'A trigger, TR_Document_Names, sets the one from the others, both ways. Drop it when no program writes names any more.'
FROM named
WHERE has_names
UNION ALL
SELECT 'note', 'dms.Document', format('an UPDATE of only %s is no change to the journal', string_agg(name, ', ' ORDER BY name)),
       'Let programs signal it (SET ContentVersion = ContentVersion + 1), or name what is content: --content-column.'
FROM extra
WHERE table_name = 'document' AND NOT is_name
  AND NOT EXISTS (SELECT FROM jsonb_array_elements_text(CAST(:content_columns AS jsonb)) AS given (value) WHERE name IN (given.value, lower(given.value)))
HAVING count(*) > 0
UNION ALL
SELECT 'note', format('dms.%s.%s', c.table_name, c.name), format('its default draws from %s, which is not its own', d.refobjid::regclass),
       'Ids come from an identity from now on, which goes on above: programs must not draw them from the sequence themselves any more.'
FROM pg_temp.fitted_column AS c
JOIN pg_temp.fitted_table AS t ON t.name = c.table_name
JOIN pg_attribute AS a ON a.attrelid = t.found AND a.attname = c.name
JOIN pg_attrdef AS f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
JOIN pg_depend AS d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass
JOIN pg_sequence AS s ON s.seqrelid = d.refobjid
WHERE c.numbered AND c.found_identity = '' AND d.refobjid <> coalesce(to_regclass(pg_get_serial_sequence('dms.' || c.table_name, c.name)), 0)
UNION ALL
SELECT 'note', format('trigger %s on dms.%s', g.tgname, t.name), 'it stays, and sees the rows that the adoption fills',
       'One that changes ContentVersion, IdentityVersion or KeyValues makes each of its updates a change. Drop what the journal replaces.'
FROM pg_temp.fitted_table AS t JOIN pg_trigger AS g ON g.tgrelid = t.found AND NOT g.tgisinternal
WHERE g.tgname NOT IN (SELECT value FROM jsonb_array_elements_text(CAST(:triggers AS jsonb)))
  AND g.tgname NOT IN ('tr_document_names', 'tr_document_content', 'tr_document_adoption', 'zz_referenceedge_adoption')
  AND NOT EXISTS (SELECT FROM pg_temp.old_trigger AS o WHERE o.found = g.tgrelid AND o.name = g.tgname)
ORDER BY severity DESC, subject, found

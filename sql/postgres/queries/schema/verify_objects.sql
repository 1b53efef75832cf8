-- sql/postgres/queries/schema/verify_objects.sql: what the schema is made of, for comparison with the shipped text.
-- Gives: kind (table, hidden, trigger, routine, view, index, constraint, sequence, partition, right), name, definition (what the server tells; null where the name is
--   all that is asked for), state: ok, or what is wrong with it.
WITH tables AS (
    SELECT oid, relname, relkind, relowner, relpersistence, relrowsecurity, relforcerowsecurity,
           relispartition OR coalesce(obj_description(oid, 'pg_class') LIKE 'dmsjournal: a part of %', false)
               OR relname ~ '^(documentchangeevent|identitychangeevent|keychangeevent|documentdeleteevent)_split_[0-9]+$' AS is_part
    FROM pg_class
    WHERE relnamespace = 'dms'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
)
SELECT 'table' AS kind, CAST(tables.relname AS text) AS name, CAST(NULL AS text) AS definition,
       CASE WHEN tables.relpersistence = 'u' OR EXISTS (
                SELECT FROM pg_partition_tree(tables.oid) AS part JOIN pg_class AS c ON c.oid = part.relid WHERE c.relpersistence = 'u')
            THEN 'is unlogged: a crash empties it'
            WHEN EXISTS (
                SELECT FROM pg_class AS c
                WHERE (c.oid = tables.oid OR c.oid IN (SELECT relid FROM pg_partition_tree(tables.oid))) AND c.relkind = 'r'
                  AND (c.relreplident = 'n' OR c.relreplident IN ('d', 'i') AND NOT EXISTS (
                      SELECT FROM pg_index AS x
                      WHERE x.indrelid = c.oid AND x.indisvalid AND CASE c.relreplident WHEN 'd' THEN x.indisprimary ELSE x.indisreplident END)))
            THEN 'has no replica identity: under a publication of all changes no UPDATE and no DELETE can commit'
            WHEN tables.relrowsecurity AND tables.relforcerowsecurity THEN 'hides rows from its owner (FORCE ROW LEVEL SECURITY)'
            WHEN tables.relrowsecurity THEN 'hides rows from other roles (ROW LEVEL SECURITY)'
            WHEN tables.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE tables.oid IN (inhparent, inhrelid))
            THEN 'shares rows with another table (INHERITS)'
            WHEN EXISTS (
                SELECT FROM pg_trigger AS ours JOIN pg_trigger AS later ON later.tgrelid = ours.tgrelid AND later.tgname > ours.tgname
                WHERE ours.tgrelid = tables.oid AND NOT later.tgisinternal AND later.tgenabled <> 'D'
                  AND ours.tgname IN ('zz_document_stampinsert', 'zz_document_stampupdate', 'zz_referenceedge_parentresource')
                  AND later.tgtype & 3 = 3 AND later.tgtype & ours.tgtype & 20 <> 0)  -- before, each row; the same event
            THEN 'has a trigger that fires after ours, and may overwrite stamps'
            WHEN EXISTS (SELECT FROM pg_rewrite WHERE ev_class = tables.oid) THEN 'has a rule that rewrites statements' ELSE 'ok' END AS state
FROM tables WHERE tables.relkind IN ('r', 'p') AND NOT tables.is_part
UNION ALL
SELECT 'hidden', tables.relname, NULL, 'ROW LEVEL SECURITY'  -- from the role that asks
FROM tables WHERE tables.relkind IN ('r', 'p') AND row_security_active(tables.oid)
UNION ALL
SELECT 'trigger', t.tgname, pg_get_triggerdef(t.oid),
       CASE t.tgenabled WHEN 'O' THEN 'ok' WHEN 'D' THEN 'disabled' WHEN 'R' THEN 'fires in replica role only'
                        ELSE 'fires in replica role too' END
FROM pg_trigger AS t JOIN tables ON tables.oid = t.tgrelid
WHERE NOT t.tgisinternal AND NOT tables.is_part
UNION ALL
SELECT 'routine', p.proname, pg_get_functiondef(p.oid),
       CASE WHEN p.proname NOT IN ('horizon', 'held_floors') AND has_function_privilege('public', p.oid, 'EXECUTE')  -- which readers call
            THEN 'PUBLIC may execute it' ELSE 'ok' END
FROM pg_proc AS p WHERE p.pronamespace = 'dms'::regnamespace AND p.prokind = 'f'
UNION ALL
SELECT 'view', relname, pg_get_viewdef(oid), 'ok' FROM tables WHERE relkind = 'v'
UNION ALL
SELECT 'index', i.relname, NULL, CASE WHEN x.indisvalid AND x.indisready THEN 'ok' ELSE 'not valid' END
FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid JOIN tables ON tables.oid = x.indrelid
WHERE NOT tables.is_part
UNION ALL
SELECT 'constraint', c.conname, NULL,
       CASE WHEN NOT c.convalidated THEN 'not validated'
            WHEN EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgconstraint = c.oid AND t.tgenabled <> 'O') THEN 'its triggers are disabled'
            ELSE 'ok' END
FROM pg_constraint AS c JOIN tables ON tables.oid = c.conrelid
WHERE NOT tables.is_part
UNION ALL
SELECT 'sequence', tables.relname,
       concat_ws(' ', format_type(s.seqtypid, NULL), 'increment', s.seqincrement, 'to', s.seqmax, 'cache', s.seqcache,
                 CASE WHEN s.seqcycle THEN 'cycle' ELSE 'no cycle' END),
       CASE WHEN tables.relpersistence = 'u' THEN 'is unlogged: a crash sets it back' ELSE 'ok' END
FROM pg_sequence AS s JOIN tables ON tables.oid = s.seqrelid
WHERE tables.relname = 'changeversionsequence'
UNION ALL
SELECT 'partition', journal.relname, NULL,  -- of option partitions: what a journal or a part of it lacks
       CASE WHEN journal.relkind = 'r' THEN 'is not partitioned' ELSE 'has no default part' END
FROM tables AS journal
WHERE to_regclass('dms.JournalPartition') IS NOT NULL
  AND journal.relname IN ('documentchangeevent', 'identitychangeevent', 'keychangeevent', 'documentdeleteevent')
  AND NOT EXISTS (SELECT FROM pg_partitioned_table AS p WHERE p.partrelid = journal.oid AND p.partdefid <> 0)
UNION ALL
SELECT 'partition', part.relname, NULL,
       CASE WHEN part.relrowsecurity THEN 'hides rows from other roles (ROW LEVEL SECURITY)' WHEN lacking.name IS NOT NULL THEN 'has no valid index for ' || lacking.name
            ELSE 'TRUNCATE is not refused there' END
FROM tables AS part
JOIN pg_inherits AS link ON link.inhrelid = part.oid
LEFT JOIN LATERAL (
    SELECT min(i.relname) AS name FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid
    WHERE x.indrelid = link.inhparent AND NOT EXISTS (
        SELECT FROM pg_inherits AS attached JOIN pg_index AS own ON own.indexrelid = attached.inhrelid
        WHERE attached.inhparent = x.indexrelid AND own.indrelid = part.oid AND own.indisvalid)) AS lacking ON true
WHERE part.is_part AND part.relkind = 'r'
  AND (part.relrowsecurity OR lacking.name IS NOT NULL OR NOT EXISTS (
      SELECT FROM pg_trigger AS t WHERE t.tgrelid = part.oid AND t.tgname LIKE 'tr\_%\_truncate' AND t.tgenabled IN ('O', 'A')))
UNION ALL
SELECT 'right', r.rolname, NULL, 'lacks EXECUTE on dms.' || p.proname || '()'  -- default privileges may take it from PUBLIC
FROM pg_roles AS r
JOIN pg_proc AS p ON p.pronamespace = 'dms'::regnamespace AND p.proname IN ('horizon', 'held_floors') AND p.pronargs = 0
WHERE r.rolcanlogin AND NOT has_function_privilege(r.oid, p.oid, 'EXECUTE') AND EXISTS (
    SELECT FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS acl
    WHERE c.oid = to_regclass('dms.DocumentChangeEvent') AND acl.privilege_type = 'SELECT' AND acl.grantee <> 0 AND pg_has_role(r.oid, acl.grantee, 'USAGE'))
ORDER BY kind, name

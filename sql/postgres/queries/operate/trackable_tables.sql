-- sql/postgres/queries/operate/trackable_tables.sql: the tables of a schema that are no partitions and not tracked yet, and those of the schema that each refers to.
-- Binds: schema_name. Gives: table_name (as SQL), refers_to (array of such names).
SELECT format('%I.%I', n.nspname, c.relname) AS table_name,
       ARRAY(SELECT DISTINCT format('%I.%I', n.nspname, target.relname) FROM pg_constraint AS con JOIN pg_class AS target ON target.oid = con.confrelid
             WHERE con.conrelid = c.oid AND con.contype = 'f' AND target.relnamespace = n.oid AND target.oid <> c.oid ORDER BY 1) AS refers_to
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = CAST(:schema_name AS name) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND NOT EXISTS (SELECT FROM dms.TrackedTable AS t WHERE dms.tracked_relation(t.TrackedTableId) = c.oid)
  AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY 1

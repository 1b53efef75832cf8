-- sql/postgres/queries/operate/repair_constraints.sql: what makes keys and checks hold again, in order, each for a transaction of its own: so that a scan
-- holds up no writer, and rows that break one leave the others right. Rows that broke a foreign key meanwhile are found as dangling edges.
-- Binds: names (JSON array of constraints of ours). Gives: statement. A foreign key's triggers are enabled by a superuser alone.
WITH altered AS (
    SELECT c.oid AS id, c.contype AS type, c.conname AS name, t.relname AS table_name, c.convalidated AS is_validated, pg_get_constraintdef(c.oid) AS definition
    FROM pg_constraint AS c JOIN pg_class AS t ON t.oid = c.conrelid
    WHERE t.relnamespace = 'dms'::regnamespace AND c.conname IN (SELECT value FROM jsonb_array_elements_text(CAST(:names AS jsonb)))
)
SELECT CAST(step.statement AS text) AS statement
FROM (
    SELECT 1 AS rank, a.name, CASE a.type WHEN 'f' THEN format('ALTER TABLE dms.%I ALTER CONSTRAINT %I ENFORCED', a.table_name, a.name)
                                          ELSE format('ALTER TABLE dms.%1$I DROP CONSTRAINT %2$I, ADD CONSTRAINT %2$I %3$s NOT VALID', a.table_name, a.name,
                                                      regexp_replace(a.definition, ' NOT ENFORCED$', '')) END AS statement
    FROM altered AS a WHERE a.definition ~ ' NOT ENFORCED$'  -- PostgreSQL 18
    UNION ALL
    SELECT 2, a.name, format('ALTER TABLE dms.%I VALIDATE CONSTRAINT %I', a.table_name, a.name)
    FROM altered AS a WHERE NOT a.is_validated
    UNION ALL
    SELECT 3, g.tgname, format('RESET ROLE; ALTER TABLE %s ENABLE TRIGGER %I', g.tgrelid::regclass, g.tgname)  -- begin_repair has set the role
    FROM altered AS a JOIN pg_trigger AS g ON g.tgconstraint = a.id
    WHERE g.tgisinternal AND g.tgenabled <> 'O' AND (SELECT r.rolsuper FROM pg_roles AS r WHERE r.rolname = session_user)
) AS step
ORDER BY step.rank, step.name

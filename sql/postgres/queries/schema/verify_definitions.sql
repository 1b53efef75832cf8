-- sql/postgres/queries/schema/verify_definitions.sql: what is not defined as its twin, a temporary table that the shipped file has made in this
-- transaction. Gives: kind (table, column, index, constraint), name, state. What others have added to a table is not looked at, but for
-- policies; a default of a program's own, which an adoption leaves, may call what the server or an extension brings.
WITH pair AS (
    SELECT twin.oid AS twin, ours.oid AS ours, ours.relname AS name
    FROM pg_class AS twin
    JOIN pg_class AS ours ON ours.relname = twin.relname AND ours.relnamespace = to_regnamespace('dms') AND ours.relkind IN ('r', 'p')
    WHERE twin.relnamespace = pg_my_temp_schema() AND twin.relkind = 'r'
), found_column AS (
    SELECT pair.name || '.' || twin.attname AS name, ours.attnum IS NOT NULL AS is_there,
           concat_ws(' ', format_type(twin.atttypid, twin.atttypmod), CASE WHEN twin.attcollation <> 0 THEN twin.attcollation::regcollation::text END,
                     CASE WHEN twin.attnotnull THEN 'NOT NULL' END, CASE WHEN twin.attidentity <> '' THEN 'identity' END) AS shipped,
           concat_ws(' ', format_type(ours.atttypid, ours.atttypmod), CASE WHEN ours.attcollation <> 0 THEN ours.attcollation::regcollation::text END,
                     CASE WHEN ours.attnotnull THEN 'NOT NULL' END, CASE WHEN ours.attidentity <> '' THEN 'identity' END,
                     CASE WHEN ours.attgenerated <> '' THEN 'generated' END) AS found,
           pg_get_expr(shipped_default.adbin, shipped_default.adrelid) AS shipped_default,
           pg_get_expr(found_default.adbin, found_default.adrelid) AS found_default,
           EXISTS (
               SELECT FROM pg_depend AS d
               WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = found_default.oid AND d.deptype = 'n'
                 AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass, 'pg_collation'::regclass)
                 AND NOT EXISTS (
                     SELECT FROM pg_depend AS e WHERE e.classid = d.refclassid AND e.objid = d.refobjid AND e.deptype = 'e')) AS is_programs
    FROM pair
    JOIN pg_attribute AS twin ON twin.attrelid = pair.twin AND twin.attnum > 0 AND NOT twin.attisdropped
    LEFT JOIN pg_attribute AS ours ON ours.attrelid = pair.ours AND ours.attname = twin.attname AND NOT ours.attisdropped
    LEFT JOIN pg_attrdef AS shipped_default ON shipped_default.adrelid = twin.attrelid AND shipped_default.adnum = twin.attnum
    LEFT JOIN pg_attrdef AS found_default ON found_default.adrelid = ours.attrelid AND found_default.adnum = ours.attnum
), found_constraint AS (
    SELECT twin.conname AS name, regexp_replace(pg_get_constraintdef(twin.oid), 'REFERENCES (pg_temp(_\d+)?\.|dms\.)?', 'REFERENCES dms.') AS shipped,
           regexp_replace(regexp_replace(pg_get_constraintdef(ours.oid), 'REFERENCES dms\.', 'REFERENCES dms.'), ' NOT VALID$', '') AS found
    FROM pair
    JOIN pg_constraint AS twin ON twin.conrelid = pair.twin AND twin.contype IN ('c', 'f', 'p', 'u', 'x')
    JOIN pg_constraint AS ours ON ours.conrelid = pair.ours AND ours.conname = twin.conname
), found_index AS (
    SELECT name.relname AS name, regexp_replace(pg_get_indexdef(twin.indexrelid), ' ON (ONLY )?(pg_temp(_\d+)?\.|dms\.)?', ' ON ') AS shipped,
           regexp_replace(pg_get_indexdef(ours.indexrelid), ' ON (ONLY )?(pg_temp(_\d+)?\.|dms\.)?', ' ON ') AS found
    FROM pair
    JOIN pg_index AS twin ON twin.indrelid = pair.twin
    JOIN pg_class AS name ON name.oid = twin.indexrelid
    JOIN pg_class AS named ON named.relname = name.relname AND named.relnamespace = to_regnamespace('dms')
    JOIN pg_index AS ours ON ours.indexrelid = named.oid AND ours.indrelid = pair.ours
    WHERE NOT EXISTS (SELECT FROM pg_constraint AS c WHERE c.conindid = twin.indexrelid AND c.conrelid = twin.indrelid)
)
SELECT 'column' AS kind, CAST(name AS text) AS name, CASE WHEN is_there THEN 'is ' || found || ', not ' || shipped ELSE 'is missing' END AS state
FROM found_column WHERE NOT is_there OR found <> shipped
UNION ALL
SELECT 'column', name, coalesce('its default is ' || found_default, 'has no default') || ', not ' || shipped_default
FROM found_column
WHERE is_there AND shipped_default IS NOT NULL AND found_default IS DISTINCT FROM shipped_default AND (found_default IS NULL OR is_programs)
UNION ALL
SELECT 'column', name, 'has the default ' || found_default || ', and should have none'
FROM found_column WHERE is_there AND shipped_default IS NULL AND found_default IS NOT NULL AND is_programs
UNION ALL
SELECT 'constraint', name, 'is ' || found || ', not ' || shipped FROM found_constraint
WHERE found <> shipped AND name <> 'ck_documentcache_documentjson'  -- a DBA sets its bound (docs/dba/limits.md)
UNION ALL
SELECT 'index', name, 'is ' || found || ', not ' || shipped FROM found_index WHERE found <> shipped
UNION ALL
SELECT 'table', pair.name, 'has a policy, ' || p.polname || ', which hides rows' FROM pair JOIN pg_policy AS p ON p.polrelid = pair.ours
ORDER BY kind, name, state

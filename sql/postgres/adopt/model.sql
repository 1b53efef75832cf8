-- sql/postgres/adopt/model.sql: what is there beside what should be, for adopt_obstacles and adopt_plan. The files that make the document
-- tables have made them as temporary ones, in this transaction, which is rolled back: so their shape is written nowhere else.
CREATE TEMPORARY VIEW fitted_table AS
SELECT model.relname AS name, model.oid AS model, found.oid AS found, CASE WHEN found.reltuples >= 0 THEN found.reltuples ELSE pg_relation_size(found.oid) / 100 END::bigint AS estimated_rows  -- never analyzed: a guess
FROM pg_class AS model
LEFT JOIN pg_class AS found ON found.relnamespace = to_regnamespace('dms') AND found.relname = model.relname
WHERE model.relnamespace = pg_my_temp_schema() AND model.relkind = 'r';

CREATE TEMPORARY VIEW fitted_column AS
SELECT t.name AS table_name, model.attname AS name, model.attnum AS position, t.estimated_rows,
       format_type(model.atttypid, model.atttypmod) AS type, model.attnotnull AS required, model.attidentity <> '' AS numbered,
       pg_get_expr(model_default.adbin, model_default.adrelid) AS default_value,
       found.attnum IS NOT NULL AS present, format_type(found.atttypid, found.atttypmod) AS found_type,
       found.attnotnull AS found_required, found.attidentity AS found_identity, found.attgenerated <> '' AS generated,
       pg_get_expr(found_default.adbin, found_default.adrelid) AS found_default
FROM fitted_table AS t
JOIN pg_attribute AS model ON model.attrelid = t.model AND model.attnum > 0
LEFT JOIN pg_attrdef AS model_default ON model_default.adrelid = model.attrelid AND model_default.adnum = model.attnum
LEFT JOIN pg_attribute AS found ON found.attrelid = t.found AND found.attname = model.attname AND found.attnum > 0 AND NOT found.attisdropped
LEFT JOIN pg_attrdef AS found_default ON found_default.adrelid = found.attrelid AND found_default.adnum = found.attnum
WHERE t.found IS NOT NULL;

CREATE TEMPORARY VIEW fitted_constraint AS
SELECT t.name AS table_name, t.found AS found_table, t.estimated_rows, model.conname AS name, model.contype AS type, model.definition,
       named.oid AS named, named.definition AS named_definition, coalesce(named.convalidated, false) AS validated, alike.conname AS alike
FROM fitted_table AS t
CROSS JOIN LATERAL (
    SELECT conname, contype, regexp_replace(pg_get_constraintdef(oid), 'REFERENCES (pg_temp(_\d+)?\.)?', 'REFERENCES dms.') AS definition
    FROM pg_constraint WHERE conrelid = t.model AND contype IN ('p', 'u', 'f', 'c')) AS model
LEFT JOIN LATERAL (
    SELECT oid, convalidated, regexp_replace(pg_get_constraintdef(oid), ' NOT VALID$', '') AS definition
    FROM pg_constraint WHERE conrelid = t.found AND conname = model.conname) AS named ON true
LEFT JOIN LATERAL (
    SELECT conname FROM pg_constraint
    WHERE conrelid = t.found AND contype = model.contype AND conname <> model.conname AND pg_get_constraintdef(oid) = model.definition
    ORDER BY conname LIMIT 1) AS alike ON true
WHERE t.found IS NOT NULL;

CREATE TEMPORARY VIEW fitted_index AS
SELECT t.name AS table_name, t.found AS found_table, t.estimated_rows, model.name, model.definition,
       found.indexrelid AS found, coalesce(found.indisvalid, false) AS valid, pg_get_indexdef(found.indexrelid) AS found_definition
FROM fitted_table AS t
CROSS JOIN LATERAL (
    SELECT c.relname AS name, regexp_replace(pg_get_indexdef(i.indexrelid), 'pg_temp(_\d+)?\.', 'dms.', 'g') AS definition
    FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
    WHERE i.indrelid = t.model AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)) AS model
LEFT JOIN pg_class AS taken ON taken.relnamespace = to_regnamespace('dms') AND taken.relname = model.name
LEFT JOIN pg_index AS found ON found.indexrelid = taken.oid
WHERE t.found IS NOT NULL;

CREATE TEMPORARY VIEW old_journal AS  -- of the program's own design, which the journals replace: the switch renames it
SELECT c.oid AS found, c.relname AS name, left(c.relname, 47) || '_before_adoption' AS kept_as
FROM pg_class AS c
WHERE c.relnamespace = to_regnamespace('dms') AND c.relkind = 'r'
  AND c.relname IN ('documentchangeevent', 'identitychangeevent', 'keychangeevent', 'documentdeleteevent')
  AND coalesce(obj_description(c.oid, 'pg_class'), '') NOT LIKE 'dmsjournal:%'
  AND 2 = (SELECT count(*) FROM pg_attribute AS a
           WHERE a.attrelid = c.oid AND a.attname IN ('changeversion', 'documentid') AND a.atttypid = 'bigint'::regtype);

CREATE TEMPORARY VIEW old_trigger AS  -- one whose function names a journal: it would fail on the new ones, and the write with it
SELECT g.tgname AS name, g.tgrelid AS found, g.tgrelid = to_regclass('dms.Document') AS is_replaced, p.oid::regprocedure AS function
FROM pg_trigger AS g JOIN pg_proc AS p ON p.oid = g.tgfoid
WHERE NOT g.tgisinternal AND g.tgenabled <> 'D'
  AND (p.prosrc ~* '(^|\mdms"?\s*\.\s*|[^.\w"])(documentchangeevent|identitychangeevent|keychangeevent|documentdeleteevent)\M'
       OR p.prosrc ~ '(^|\mdms"?\s*\.\s*|[^.\w])"(documentchangeevent|identitychangeevent|keychangeevent|documentdeleteevent)"');

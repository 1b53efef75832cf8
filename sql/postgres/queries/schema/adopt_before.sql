-- sql/postgres/queries/schema/adopt_before.sql: what the tables lack before an adoption, and what the adoption replaces.
-- Gives: kind (table, column, constraint or index: it is missing; nullable: the column takes nulls; journal, trigger: it is replaced), table_name,
-- name. After adopt/model.sql, in the same transaction. A foreign key that takes another one's place is not listed: it stays.
SELECT 'table' AS kind, CAST(name AS text) AS table_name, CAST(name AS text) AS name FROM pg_temp.fitted_table WHERE found IS NULL
UNION ALL
SELECT CASE WHEN present THEN 'nullable' ELSE 'column' END, table_name, name
FROM pg_temp.fitted_column WHERE NOT present OR required AND NOT found_required
UNION ALL
SELECT 'constraint', c.table_name, c.name
FROM pg_temp.fitted_constraint AS c
WHERE c.named IS NULL AND c.alike IS NULL AND NOT EXISTS (
    SELECT FROM pg_constraint AS theirs
    WHERE theirs.conrelid = c.found_table AND theirs.contype = 'f' AND c.type = 'f'
      AND split_part(pg_get_constraintdef(theirs.oid), ' REFERENCES', 1) = split_part(c.definition, ' REFERENCES', 1))
UNION ALL
SELECT 'index', table_name, name FROM pg_temp.fitted_index WHERE found IS NULL
UNION ALL
SELECT 'journal', name, kept_as FROM pg_temp.old_journal
UNION ALL
SELECT 'trigger', 'document', name FROM pg_temp.old_trigger WHERE is_replaced

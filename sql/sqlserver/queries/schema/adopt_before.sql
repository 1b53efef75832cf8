-- sql/sqlserver/queries/schema/adopt_before.sql: what the tables lack before an adoption, and what the adoption replaces.
-- Gives: kind (table, column, constraint or index: it is missing; nullable: the column takes nulls; journal, trigger: it is replaced), table_name,
-- name. After adopt/model.sql, in the same transaction. A foreign key that takes another one's place is not listed: it stays.
SELECT N'table' AS kind, CAST(name AS nvarchar(128)) AS table_name, CAST(name AS nvarchar(160)) AS name FROM #fitted_table WHERE found_id IS NULL
UNION ALL
SELECT CASE WHEN present = 1 THEN N'nullable' ELSE N'column' END, table_name, name
FROM #fitted_column WHERE present = 0 OR (required = 1 AND found_required = 0 AND computed = 0)
UNION ALL
SELECT N'constraint', c.table_name, c.name
FROM #fitted_constraint AS c
WHERE c.fitting IS NULL AND NOT EXISTS (
    SELECT * FROM #stated_constraint AS theirs
    WHERE theirs.parent = c.found_table AND theirs.type = N'f' AND c.type = N'f' AND theirs.keys = c.keys)
UNION ALL
SELECT N'index', table_name, name FROM #fitted_index WHERE fitting IS NULL
UNION ALL
SELECT N'journal', name, kept_as FROM #old_journal
UNION ALL
SELECT N'trigger', N'Document', name FROM #old_trigger WHERE is_replaced = 1;

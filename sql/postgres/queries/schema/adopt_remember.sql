-- sql/postgres/queries/schema/adopt_remember.sql: keeps what adopt_before.sql has given. A later run adds only what is replaced: what the tables lack
-- by then is what the adoption has not come to. Binds: rows (JSON array of objects with kind, table_name, name).
INSERT INTO dms.AdoptionBefore (Kind, TableName, Name)
SELECT row.kind, row.table_name, row.name
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (kind varchar, table_name varchar, name varchar)
WHERE row.kind IN ('journal', 'trigger') OR NOT EXISTS (SELECT FROM dms.AdoptionBefore)
ON CONFLICT DO NOTHING

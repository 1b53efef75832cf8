-- sql/postgres/adopt/journals.sql: the program's own journals make room, with their rows, indexes, constraints and sequences, and its trigger that writes them
-- stops: ours come in the same transaction, after adopt/ready.sql has locked the documents.
DO $$
DECLARE
    old record;
BEGIN
    FOR old IN
        SELECT b.Kind AS kind, b.TableName AS table_name, b.Name AS name FROM dms.AdoptionBefore AS b
        WHERE b.Kind = 'trigger' AND EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass('dms.Document') AND tgname = b.Name)
    LOOP
        EXECUTE format('ALTER TABLE dms.Document DISABLE TRIGGER %I', old.name);
    END LOOP;
    FOR old IN
        SELECT 1 AS rank, i.relname AS name, format('ALTER INDEX dms.%I RENAME TO %I', i.relname, left(i.relname, 47) || '_before_adoption') AS statement
        FROM dms.AdoptionBefore AS b
        JOIN pg_index AS x ON x.indrelid = to_regclass(format('dms.%I', b.TableName)) JOIN pg_class AS i ON i.oid = x.indexrelid
        WHERE b.Kind = 'journal'
        UNION ALL
        SELECT 2, c.conname, format('ALTER TABLE dms.%I RENAME CONSTRAINT %I TO %I', b.TableName, c.conname, left(c.conname, 47) || '_before_adoption')
        FROM dms.AdoptionBefore AS b JOIN pg_constraint AS c ON c.conrelid = to_regclass(format('dms.%I', b.TableName)) AND c.conindid = 0
        WHERE b.Kind = 'journal'
        UNION ALL
        SELECT 3, s.relname, format('ALTER SEQUENCE dms.%I RENAME TO %I', s.relname, left(s.relname, 47) || '_before_adoption')
        FROM dms.AdoptionBefore AS b
        JOIN pg_depend AS d ON d.refobjid = to_regclass(format('dms.%I', b.TableName)) AND d.deptype IN ('a', 'i')
        JOIN pg_class AS s ON d.classid = 'pg_class'::regclass AND s.oid = d.objid AND s.relkind = 'S'
        WHERE b.Kind = 'journal'
        UNION ALL
        SELECT 4, b.TableName, format('ALTER TABLE dms.%I RENAME TO %I', b.TableName, b.Name) FROM dms.AdoptionBefore AS b
        WHERE b.Kind = 'journal' AND to_regclass(format('dms.%I', b.TableName)) IS NOT NULL
        ORDER BY 1, 2
    LOOP
        EXECUTE old.statement;
    END LOOP;
END $$;

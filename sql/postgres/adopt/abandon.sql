-- sql/postgres/adopt/abandon.sql: an adoption that is on its way goes back: what it brought and the tables' programs may not bear goes, and their own
-- journals and triggers come back. After the triggers have gone, in the same transaction. What no program notices stays: keys, defaults and
-- identities that were there under another name or in another form, and the sequence, since its stamps are in the documents.
DROP FUNCTION IF EXISTS dms.adopt_parent_resource(), dms.adopt_document_values(), dms.keep_resource_names(), dms.signal_content() CASCADE;  -- their triggers
DROP INDEX IF EXISTS dms.adoption_stamps;
DO $$
DECLARE
    old record;
BEGIN
    FOR old IN
        SELECT 0 AS rank, c.conname AS name, format('ALTER TABLE dms.%I DROP CONSTRAINT %I', t.relname, c.conname) AS statement
        FROM pg_constraint AS c JOIN pg_class AS t ON t.oid = c.conrelid
        WHERE t.relnamespace = 'dms'::regnamespace AND c.contype = 'c' AND c.conname ~ '^adopt_[a-z]+$'
        UNION ALL
        SELECT CASE WHEN c.contype = 'f' THEN 1 ELSE 2 END, c.conname, format('ALTER TABLE dms.%I DROP CONSTRAINT %I', b.TableName, c.conname)
        FROM dms.AdoptionBefore AS b
        JOIN pg_constraint AS c ON c.conrelid = to_regclass(format('dms.%I', b.TableName)) AND c.conname = b.Name
        WHERE b.Kind = 'constraint'
        UNION ALL
        SELECT 3, b.Name, format('DROP INDEX IF EXISTS dms.%I', b.Name) FROM dms.AdoptionBefore AS b
        WHERE b.Kind IN ('index', 'constraint')  -- of a constraint that was not declared yet
        UNION ALL
        SELECT 4, b.Name, format('ALTER TABLE dms.%I ALTER COLUMN %I DROP NOT NULL', b.TableName, b.Name) FROM dms.AdoptionBefore AS b
        WHERE b.Kind = 'nullable'
        UNION ALL
        SELECT 5, b.Name, format('ALTER TABLE dms.%I DROP COLUMN IF EXISTS %I', b.TableName, b.Name) FROM dms.AdoptionBefore AS b
        WHERE b.Kind = 'column'
        UNION ALL
        SELECT CASE WHEN b.Name = 'resourcekey' THEN 7 ELSE 0 END, b.Name, format('DROP TABLE IF EXISTS dms.%I', b.Name) FROM dms.AdoptionBefore AS b
        WHERE b.Kind = 'table'
        UNION ALL
        SELECT 8, s.relname, format('ALTER %s dms.%I RENAME TO %I', CASE s.relkind WHEN 'i' THEN 'INDEX' ELSE 'SEQUENCE' END, s.relname, regexp_replace(s.relname, '_before_adoption$', ''))
        FROM dms.AdoptionBefore AS b
        JOIN pg_class AS t ON t.oid = to_regclass(format('dms.%I', b.Name))
        JOIN pg_class AS s ON s.relnamespace = t.relnamespace AND s.relname ~ '_before_adoption$'
             AND (s.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = t.oid)
                  OR s.relkind = 'S' AND s.oid IN (SELECT objid FROM pg_depend WHERE classid = 'pg_class'::regclass AND refobjid = t.oid AND deptype IN ('a', 'i')))
        WHERE b.Kind = 'journal'
        UNION ALL
        SELECT 8, c.conname, format('ALTER TABLE dms.%I RENAME CONSTRAINT %I TO %I', b.Name, c.conname, regexp_replace(c.conname, '_before_adoption$', ''))
        FROM dms.AdoptionBefore AS b
        JOIN pg_constraint AS c ON c.conrelid = to_regclass(format('dms.%I', b.Name)) AND c.conindid = 0 AND c.conname ~ '_before_adoption$'
        WHERE b.Kind = 'journal'
        UNION ALL
        SELECT 9, b.Name, format('ALTER TABLE dms.%I RENAME TO %I', b.Name, b.TableName) FROM dms.AdoptionBefore AS b
        WHERE b.Kind = 'journal' AND to_regclass(format('dms.%I', b.Name)) IS NOT NULL
        UNION ALL
        SELECT 10, b.Name, format('ALTER TABLE dms.Document ENABLE TRIGGER %I', b.Name)
        FROM dms.AdoptionBefore AS b JOIN pg_trigger AS g ON g.tgrelid = to_regclass('dms.Document') AND g.tgname = b.Name
        WHERE b.Kind = 'trigger'
        ORDER BY 1, 2
    LOOP
        EXECUTE old.statement;
    END LOOP;
END $$;
DROP TABLE dms.Adoption, dms.AdoptionBefore;
DROP TABLE IF EXISTS dms.alembic_version;

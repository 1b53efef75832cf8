-- sql/postgres/adopt/finish.sql: the adoption is over. In the transaction that lets readers in. What the program's own journals hold stays, as it
-- is: a delete of a document deletes nothing of them any more, and searches nothing in them.
DO $$
DECLARE
    old record;
BEGIN
    FOR old IN
        SELECT format('DROP TRIGGER %I ON dms.Document', g.tgname) AS statement
        FROM dms.AdoptionBefore AS b JOIN pg_trigger AS g ON g.tgrelid = to_regclass('dms.Document') AND g.tgname = b.Name
        WHERE b.Kind = 'trigger'
        UNION ALL
        SELECT format('ALTER TABLE dms.%I DROP CONSTRAINT %I', b.Name, c.conname)
        FROM dms.AdoptionBefore AS b
        JOIN pg_constraint AS c ON c.conrelid = to_regclass(format('dms.%I', b.Name)) AND c.contype = 'f' AND c.confrelid = to_regclass('dms.Document')
        WHERE b.Kind = 'journal'
    LOOP
        EXECUTE old.statement;
    END LOOP;
END $$;
DROP TABLE dms.Adoption, dms.AdoptionBefore;

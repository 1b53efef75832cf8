-- sql/postgres/checks/installable.sql: refuses to install where schema dms belongs to something else (acceptance 57).
-- Runs before anything is created, online and in the script. What an earlier installation left with documents in it carries its
-- comment, is taken up again, and must belong to the installing role, since its triggers run with that role's rights. Where documents are
-- left, they may have been adopted with neighbours: then only those stand in the way whose names a migration would take for ours; a clash
-- with any other name ends the migration by itself.
-- A dump may leave comments out (pg_dump --no-comments). Then an installation is known by its objects, all of which are the installing role's by
-- checks/owned.sql, and its document tables are marked again, so that they are taken up after a removal.
DO $$
DECLARE
    foreign_object text;
    unmarked record;
    adopted boolean := obj_description(to_regclass('dms.Document'), 'pg_class') LIKE 'dmsjournal:%';
BEGIN
    IF to_regnamespace('dms') IS NULL THEN
        RETURN;
    END IF;
    IF to_regclass('dms.Adoption') IS NOT NULL THEN
        RAISE EXCEPTION 'an adoption of dms.Document is on its way' USING ERRCODE = 'DJ006', HINT = 'Run dmsjournal adopt to its end first.';
    END IF;
    IF obj_description(to_regclass('dms.alembic_version'), 'pg_class') LIKE 'dmsjournal:%'
       OR to_regclass('dms.alembic_version') IS NOT NULL AND to_regproc('dms.enter_change') IS NOT NULL AND 5 = (
           SELECT count(*) FROM pg_class AS c WHERE c.relnamespace = 'dms'::regnamespace AND c.relkind IN ('r', 'S')
             AND c.relname IN ('resourcekey', 'document', 'documentcache', 'referenceedge', 'changeversionsequence')) THEN
        IF EXISTS (SELECT FROM dms.alembic_version) THEN
            FOR unmarked IN
                SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, c.relname AS name FROM pg_class AS c
                WHERE c.relnamespace = 'dms'::regnamespace AND obj_description(c.oid, 'pg_class') IS NULL
                  AND c.relname IN ('alembic_version', 'resourcekey', 'document', 'documentcache', 'referenceedge', 'changeversionsequence')
            LOOP
                EXECUTE format('COMMENT ON %s dms.%I IS ''dmsjournal: restored without its comment''', unmarked.kind, unmarked.name);
            END LOOP;
            RETURN;  -- installed: what else is in the schema came afterwards and is not touched
        END IF;
    END IF;
    SELECT string_agg(found.name, ', ' ORDER BY found.name) INTO foreign_object
    FROM (
        SELECT c.relname AS name
        FROM pg_class AS c
        WHERE c.relnamespace = 'dms'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
          AND coalesce(obj_description(c.oid, 'pg_class'), '') NOT LIKE 'dmsjournal:%'
          AND NOT (c.relkind = 'S' AND EXISTS (  -- the sequence of an identity column is its table's
              SELECT FROM pg_depend AS d
              WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i'))
          AND (adopted IS NOT TRUE OR lower(c.relname) IN ('resourcekey', 'document', 'documentcache', 'referenceedge', 'changeversionsequence'))
        UNION ALL
        SELECT p.proname || '()' FROM pg_proc AS p
        WHERE p.pronamespace = 'dms'::regnamespace AND adopted IS NOT TRUE
          AND coalesce(obj_description(p.oid, 'pg_proc'), '') NOT LIKE 'dmsjournal:%'
          AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
    ) AS found;
    IF foreign_object IS NOT NULL THEN
        RAISE EXCEPTION 'schema dms holds objects of another application: %', foreign_object
            USING ERRCODE = 'DJ006', HINT = CASE WHEN foreign_object = 'alembic_version'
                THEN 'It is all that is there. If alembic stamp has made it, DROP TABLE dms.alembic_version, then upgrade; else install into another database.'
                WHEN adopted IS NOT TRUE AND EXISTS (SELECT FROM pg_class WHERE relnamespace = 'dms'::regnamespace AND lower(relname) = 'document')
                THEN 'Where Document is of documents with rows, run dmsjournal adopt, which takes them up (docs/dba/adopt.md); '
                     'else install into another database.'
                ELSE 'Install into a database whose schema dms is empty or absent.' END;
    END IF;
    SELECT string_agg(c.relname, ', ' ORDER BY c.relname) INTO foreign_object
    FROM pg_class AS c
    WHERE c.relnamespace = 'dms'::regnamespace AND c.relkind IN ('r', 'S') AND NOT pg_has_role(c.relowner, 'USAGE')
      AND obj_description(c.oid, 'pg_class') LIKE 'dmsjournal:%';
    IF foreign_object IS NOT NULL THEN
        RAISE EXCEPTION 'role % does not own what an earlier installation left in schema dms: %', current_user, foreign_object
            USING ERRCODE = 'DJ006', HINT = 'Install as the owner of those objects.';
    END IF;
END $$;

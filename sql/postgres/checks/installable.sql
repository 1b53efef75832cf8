-- sql/postgres/checks/installable.sql: refuses to install where schema dms belongs to something else (acceptance 57).
-- Runs before anything is created, online and in the script. What an earlier installation left with documents in it carries its
-- comment, is taken up again, and must belong to the installing role, since its triggers run with that role's rights.
DO $$
DECLARE
    foreign_object text;
BEGIN
    IF current_setting('server_version_num')::integer < 150000 THEN
        RAISE EXCEPTION 'dmsjournal needs PostgreSQL 15 or later, this is %', current_setting('server_version')
            USING ERRCODE = 'DJ006', HINT = 'Upgrade the server first.';
    END IF;
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'dmsjournal needs a database in UTF8, this one is in %', current_setting('server_encoding')
            USING ERRCODE = 'DJ006', HINT = 'CREATE DATABASE ... ENCODING ''UTF8'' TEMPLATE template0.';
    END IF;
    IF to_regnamespace('dms') IS NULL AND NOT has_database_privilege(current_database(), 'CREATE') THEN
        RAISE EXCEPTION 'role % may not create schema dms in database %', current_user, current_database()
            USING ERRCODE = 'DJ006', HINT = 'GRANT CREATE ON DATABASE to the role, or create the schema for it (CREATE SCHEMA dms AUTHORIZATION ...).';
    END IF;
    IF to_regnamespace('dms') IS NULL THEN
        RETURN;
    END IF;
    IF NOT has_schema_privilege('dms', 'CREATE') OR NOT has_schema_privilege('dms', 'USAGE') THEN
        RAISE EXCEPTION 'role % may not create objects in schema dms', current_user
            USING ERRCODE = 'DJ006', HINT = 'GRANT USAGE, CREATE ON SCHEMA dms to the role, or install as its owner.';
    END IF;
    IF obj_description(to_regclass('dms.alembic_version'), 'pg_class') LIKE 'dmsjournal:%' THEN
        IF EXISTS (SELECT FROM dms.alembic_version) THEN
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
        UNION ALL
        SELECT p.proname || '()' FROM pg_proc AS p
        WHERE p.pronamespace = 'dms'::regnamespace
          AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
    ) AS found;
    IF foreign_object IS NOT NULL THEN
        RAISE EXCEPTION 'schema dms holds objects of another application: %', foreign_object
            USING ERRCODE = 'DJ006', HINT = 'Install into a database whose schema dms is empty or absent.';
    END IF;
    SELECT string_agg(c.relname, ', ' ORDER BY c.relname) INTO foreign_object
    FROM pg_class AS c
    WHERE c.relnamespace = 'dms'::regnamespace AND c.relkind IN ('r', 'S') AND NOT pg_has_role(c.relowner, 'USAGE');
    IF foreign_object IS NOT NULL THEN
        RAISE EXCEPTION 'role % does not own what an earlier installation left in schema dms: %', current_user, foreign_object
            USING ERRCODE = 'DJ006', HINT = 'Install as the owner of those objects.';
    END IF;
END $$;

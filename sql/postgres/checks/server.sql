-- sql/postgres/checks/server.sql: refuses a server, a database or a role that cannot have the journal (acceptance 57).
DO $$
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
END $$;

-- sql/postgres/checks/schema.sql: where everything lives, alembic_version included. CREATE SCHEMA IF NOT EXISTS would need the right to
-- create one where it exists, too. Runs before owned.sql: a schema that another role makes meanwhile is looked at, not taken.
DO $$
BEGIN
    IF to_regnamespace('dms') IS NULL THEN
        CREATE SCHEMA dms;
    END IF;
END $$;

-- sql/postgres/checks/schema.sql: where everything lives, alembic_version included. CREATE SCHEMA IF NOT EXISTS would need the right to
-- create one where it exists, too. What a removal left of alembic_version goes, since a script always makes it.
DO $$
BEGIN
    IF to_regnamespace('dms') IS NULL THEN
        CREATE SCHEMA dms;
    END IF;
    IF to_regclass('dms.alembic_version') IS NOT NULL THEN
        IF NOT EXISTS (SELECT FROM dms.alembic_version) THEN
            DROP TABLE dms.alembic_version;
        END IF;
    END IF;
END $$;

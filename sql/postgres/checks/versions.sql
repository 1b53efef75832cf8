-- sql/postgres/checks/versions.sql: what a removal left of alembic_version goes, since a script always makes it. Runs after the other checks.
DO $$
BEGIN
    IF to_regclass('dms.alembic_version') IS NOT NULL THEN
        IF NOT EXISTS (SELECT FROM dms.alembic_version) THEN
            DROP TABLE dms.alembic_version;
        END IF;
    END IF;
END $$;

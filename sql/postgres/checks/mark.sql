-- sql/postgres/checks/mark.sql: marks Alembic's own table as ours where it holds no revision: Alembic makes it also where it then finds
-- nothing to do; and where a stamp has made it again beside a journal. Runs after the migrations.
DO $$
BEGIN
    IF to_regclass('dms.alembic_version') IS NOT NULL THEN
        IF NOT EXISTS (SELECT FROM dms.alembic_version) OR obj_description(to_regclass('dms.Document'), 'pg_class') LIKE 'dmsjournal:%' THEN
            COMMENT ON TABLE dms.alembic_version IS 'dmsjournal: the revision that is installed';
        END IF;
    END IF;
END $$;

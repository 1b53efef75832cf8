-- sql/postgres/tables/alembic_version.v1.sql: marks Alembic's own table as ours.
COMMENT ON TABLE dms.alembic_version IS 'dmsjournal: the revision that is installed';

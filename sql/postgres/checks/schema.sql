-- sql/postgres/checks/schema.sql: where everything lives, alembic_version included.
CREATE SCHEMA IF NOT EXISTS dms;

-- sql/sqlserver/queries/revision.sql: the revision that is installed; no row, or no such table, where none is.
SELECT version_num AS revision FROM dms.alembic_version;

-- sql/postgres/roles/grants.sql: optional. A writer, a reader and nobody else; run it as the installing role, after the upgrade:
--   psql -v writer=app_writer -v reader=app_reader -f grants.sql "$DATABASE"
-- The writer needs nothing on the journals: triggers owned by the installing role fill them, and the writer can neither add, change
-- nor delete a row there. The reader reads everything and writes nothing. See docs/dba/roles.md.
\set ON_ERROR_STOP on
BEGIN;
GRANT USAGE ON SCHEMA dms TO :"writer", :"reader";
GRANT SELECT, INSERT, UPDATE, DELETE ON dms.Document, dms.DocumentCache, dms.ReferenceEdge TO :"writer";
GRANT SELECT, INSERT ON dms.ResourceKey TO :"writer";
GRANT SELECT ON dms.ResourceDependency, dms.DocumentDeleteEvent, dms.alembic_version TO :"writer";
GRANT SELECT ON ALL TABLES IN SCHEMA dms TO :"reader";
GRANT SELECT ON SEQUENCE dms.ChangeVersionSequence TO :"reader";  -- to look at, for verify and status: it neither draws nor sets
COMMIT;

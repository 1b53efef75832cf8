-- sql/postgres/roles/grants.sql: optional. A writer, a reader, a pruner and nobody else; run it as the installing role, after the upgrade:
--   psql -v writer=app_writer -v reader=app_reader -v pruner=app_pruner -f grants.sql "$DATABASE"
-- The writer needs nothing on the journals: triggers owned by the installing role fill them, and the writer can neither add, change
-- nor delete a row there. The reader reads everything and writes nothing. The pruner deletes events, raises floors and keeps the list of
-- consumers; it sees no document. See docs/dba/roles.md.
\set ON_ERROR_STOP on
BEGIN;
GRANT USAGE ON SCHEMA dms TO :"writer", :"reader", :"pruner";
GRANT SELECT, INSERT, UPDATE, DELETE ON dms.Document, dms.DocumentCache, dms.ReferenceEdge TO :"writer";
GRANT SELECT, INSERT ON dms.ResourceKey TO :"writer";
GRANT SELECT ON dms.ResourceDependency, dms.DocumentDeleteEvent, dms.alembic_version TO :"writer";
GRANT SELECT ON ALL TABLES IN SCHEMA dms TO :"reader";
GRANT SELECT ON SEQUENCE dms.ChangeVersionSequence TO :"reader", :"pruner";  -- to look at it, not to draw
GRANT SELECT, DELETE ON dms.DocumentChangeEvent, dms.IdentityChangeEvent, dms.KeyChangeEvent, dms.DocumentDeleteEvent TO :"pruner";
GRANT SELECT, UPDATE ON dms.JournalFloor TO :"pruner";
GRANT SELECT, INSERT, UPDATE, DELETE ON dms.ChangeConsumer TO :"pruner";
GRANT SELECT ON dms.alembic_version TO :"pruner";
DO $$  -- who deletes events deletes what options images and context keep for them: without the bodies
DECLARE
    pruner regrole;
BEGIN
    FOR pruner IN
        SELECT acl.grantee FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS acl
        WHERE c.oid = 'dms.DocumentChangeEvent'::regclass AND acl.privilege_type = 'DELETE' AND acl.grantee NOT IN (0, c.relowner)
    LOOP
        IF to_regclass('dms.DocumentImage') IS NOT NULL THEN
            EXECUTE format('GRANT DELETE, SELECT (ChangeVersion, DocumentId, IsDelete) ON dms.DocumentImage TO %s', pruner);
        END IF;
        IF to_regclass('dms.ChangeContext') IS NOT NULL THEN
            EXECUTE format('GRANT SELECT, DELETE ON dms.ChangeContext TO %s', pruner);
        END IF;
    END LOOP;
END $$;
COMMIT;

-- sql/postgres/roles/grants.sql: optional. A writer, a reader, a pruner and nobody else; run it as the installing role, after the upgrade:
--   psql -v writer=app_writer -v reader=app_reader -v pruner=app_pruner -f grants.sql "$DATABASE"
-- The writer needs nothing on the journals: triggers owned by the installing role fill them, and the writer can neither add, change
-- nor delete a row there. The reader reads everything and writes nothing. The pruner deletes events, raises floors and keeps the list of
-- consumers; it sees no document. See docs/dba/roles.md.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL search_path = pg_catalog, pg_temp;  -- names resolve to nothing that another role made
GRANT USAGE ON SCHEMA dms TO :"writer", :"reader", :"pruner";
GRANT SELECT, INSERT, UPDATE, DELETE ON dms.Document, dms.DocumentCache, dms.ReferenceEdge TO :"writer";
GRANT SELECT, INSERT ON dms.ResourceKey TO :"writer";
GRANT SELECT ON dms.ResourceDependency, dms.DocumentDeleteEvent, dms.alembic_version TO :"writer";
GRANT SELECT ON ALL TABLES IN SCHEMA dms TO :"reader";
GRANT SELECT ON ALL SEQUENCES IN SCHEMA dms TO :"reader", :"pruner";  -- to look at them, not to draw
GRANT EXECUTE ON FUNCTION dms.horizon(), dms.held_floors() TO :"writer", :"reader", :"pruner";  -- PUBLIC's, unless default privileges say otherwise
GRANT SELECT, DELETE ON dms.DocumentChangeEvent, dms.IdentityChangeEvent, dms.KeyChangeEvent, dms.DocumentDeleteEvent TO :"pruner";
GRANT SELECT, UPDATE ON dms.JournalFloor TO :"pruner";
GRANT SELECT ON dms.ChangeConsumer, dms.alembic_version TO :"pruner";
GRANT EXECUTE ON FUNCTION dms.register_consumer(text, bigint, bigint, text), dms.move_consumer(text, bigint, bigint, text, boolean),
    dms.drop_consumer(text), dms.hold_lease(text, uuid, text, integer, boolean) TO :"pruner";  -- of every role's consumers: it may delete events (functions/keep_consumer.v1.sql)
DO $$  -- a role that deletes events drops parts of them, and deletes what options images and context keep for them: without the bodies
DECLARE
    pruner regrole;
BEGIN
    FOR pruner IN
        SELECT acl.grantee FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS acl
        WHERE c.oid = 'dms.DocumentChangeEvent'::regclass AND acl.privilege_type = 'DELETE' AND acl.grantee NOT IN (0, c.relowner)
    LOOP
        IF to_regprocedure('dms.drop_partition(text, text, text[])') IS NOT NULL THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION dms.drop_partition(text, text, text[]) TO %s', pruner);
        END IF;
        IF to_regclass('dms.DocumentImage') IS NOT NULL THEN
            EXECUTE format('GRANT DELETE, SELECT (ChangeVersion, DocumentId, IsDelete) ON dms.DocumentImage TO %s', pruner);
            EXECUTE format('GRANT SELECT, UPDATE (ChangeVersion) ON dms.DocumentImageFloor TO %s', pruner);
        END IF;
        IF to_regclass('dms.ChangeContext') IS NOT NULL THEN
            EXECUTE format('GRANT SELECT, DELETE ON dms.ChangeContext TO %s', pruner);
        END IF;
    END LOOP;
END $$;
DO $$  -- with option tracking: a writer of documents asks which resources are tables; a reader lists, checks and reads tracked tables
DECLARE
    role record;
BEGIN
    IF to_regclass('dms.TrackedTable') IS NOT NULL THEN
        FOR role IN
            SELECT acl.grantee::regrole AS name, c.relname = 'documentcache' AS reads
            FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS acl
            WHERE c.oid IN ('dms.Document'::regclass, 'dms.DocumentCache'::regclass) AND acl.privilege_type = 'SELECT' AND acl.grantee NOT IN (0, c.relowner)
        LOOP
            EXECUTE format('GRANT SELECT ON dms.TrackedTable TO %s', role.name);
            IF role.reads THEN
                EXECUTE format('GRANT EXECUTE ON FUNCTION dms.tracked_bodies(bigint[]), dms.tracked_body_query(smallint), dms.tracked_source(smallint[], text), dms.tracked_tables(), dms.check_tracking(), '
                               'dms.check_tracked_rows(text, bigint, bigint), dms.check_tracked_documents(text, bigint) TO %s', role.name);
            END IF;
        END LOOP;
    END IF;
END $$;
COMMIT;

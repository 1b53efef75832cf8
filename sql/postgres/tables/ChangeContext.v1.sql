-- sql/postgres/tables/ChangeContext.v1.sql: option context: what caused a transaction's changes, as its writer says. One row a transaction and
-- context: it holds for the events of the transaction whose stamps are above AfterVersion and at most ThroughVersion.
-- Transaction ids come again in a cluster that a dump is restored into. The sequence does not go back: a later transaction's stamps are above
-- ThroughVersion, which is the sequence's value when this one committed (close_context). Null until then, so no reader ever sees it.
DO $$
BEGIN
    IF to_regclass('dms.ResourceChange') IS NULL THEN
        RAISE EXCEPTION 'option context needs revision 0006' USING ERRCODE = 'DJ006', HINT = 'Upgrade to it first.';
    END IF;
END $$;
CREATE TABLE dms.ChangeContext (
    TransactionId  bigint      NOT NULL,
    AfterVersion   bigint      NOT NULL,
    ThroughVersion bigint      NULL,
    CreatedAt      timestamptz NOT NULL,
    Context        jsonb       NOT NULL,
    CONSTRAINT PK_ChangeContext PRIMARY KEY (TransactionId, AfterVersion)
);
CREATE INDEX IX_ChangeContext_ThroughVersion ON dms.ChangeContext (ThroughVersion);  -- for the prune
COMMENT ON TABLE dms.ChangeContext IS 'dmsjournal: what caused changes';
DO $$
DECLARE
    granted record;
BEGIN
    FOR granted IN  -- who reads events reads what caused them, who deletes them deletes it
        SELECT CASE WHEN acl.grantee = 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END AS role, acl.privilege_type AS privilege
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS acl
        WHERE c.oid = 'dms.DocumentChangeEvent'::regclass AND acl.privilege_type IN ('SELECT', 'DELETE') AND acl.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON dms.ChangeContext TO %s', granted.privilege, granted.role);
    END LOOP;
END $$;
-- drop: DROP TABLE dms.ChangeContext;

-- sql/postgres/tables/MaxDepIdentityPending.v1.sql: what is to be done before Document.MaxDepIdentityVersion is exact; empty where it is.
-- Readers look here in the snapshot that they read in, and go by the children where there is a row.
-- IsFill: documents above DocumentId (exclusive) have not been filled yet; one row at most. Else: the document's identity changed, and
-- its parents are to be raised: rows of a transaction that it takes away itself when it commits (raise_pending).
CREATE TABLE dms.MaxDepIdentityPending (
    DocumentId bigint  NOT NULL,
    IsFill     boolean NOT NULL
) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);  -- rows come and go, and pages look here
CREATE INDEX IX_MaxDepIdentityPending ON dms.MaxDepIdentityPending (DocumentId, IsFill);
ALTER TABLE dms.MaxDepIdentityPending REPLICA IDENTITY FULL;  -- several transactions may leave the same row; a publication publishes deletes
COMMENT ON TABLE dms.MaxDepIdentityPending IS 'dmsjournal: what is to be done before MaxDepIdentityVersion is exact';
DO $$
DECLARE
    reader record;
BEGIN
    IF EXISTS (SELECT FROM dms.Document) THEN
        INSERT INTO dms.MaxDepIdentityPending (DocumentId, IsFill) VALUES (-9223372036854775808, true);
    ELSE  -- nothing to fill: else the index is made by `dmsjournal fill`, while writers go on
        CREATE INDEX IX_Document_MaxDepIdentityVersion ON dms.Document
            (ResourceKeyId, greatest(ContentVersion, IdentityVersion, MaxDepIdentityVersion), DocumentId);
    END IF;
    FOR reader IN  -- who reads floors, reads pages
        SELECT CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS name
        FROM pg_class, aclexplode(relacl)
        WHERE oid = 'dms.JournalFloor'::regclass AND privilege_type = 'SELECT' AND grantee <> relowner
    LOOP
        EXECUTE format('GRANT SELECT ON dms.MaxDepIdentityPending TO %s', reader.name);
    END LOOP;
END $$;
-- drop: DROP INDEX IF EXISTS dms.IX_Document_MaxDepIdentityVersion;
-- drop: DROP TABLE dms.MaxDepIdentityPending;

-- sql/postgres/functions/fill_max_dep.v1.sql: option max_dep_identity_version: fills MaxDepIdentityVersion of the next documents, in ascending
-- DocumentId; returns how many it looked at, 0 when all are filled. Call it in a transaction of its own until it returns 0.
-- A document is looked at without a lock, and locked where a child is newer than its own stamps; who renames a child meanwhile raises it.
-- After the last one it raises what REPEATABLE READ transactions left. Two that fill at once: the second waits for the first's batch.
CREATE FUNCTION dms.fill_max_dep(batch_size integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    filled bigint;
    looked_at bigint;
    last bigint;
    parents bigint[];
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'MaxDepIdentityVersion cannot be filled in a % transaction: its snapshot may be older', current_setting('transaction_isolation')
            USING ERRCODE = 'DJ001', HINT = 'Fill it in READ COMMITTED transactions.';
    END IF;
    SELECT DocumentId INTO filled FROM dms.MaxDepIdentityPending WHERE IsFill FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM dms.raise_pending();
        RETURN 0;
    END IF;
    SELECT count(*), max(listed.DocumentId), array_agg(listed.DocumentId) FILTER (WHERE newest_child.version > listed.version)
    INTO looked_at, last, parents
    FROM (
        SELECT DocumentId, greatest(ContentVersion, IdentityVersion, MaxDepIdentityVersion) AS version
        FROM dms.Document WHERE DocumentId > filled ORDER BY DocumentId LIMIT batch_size
    ) AS listed
    CROSS JOIN LATERAL (
        SELECT max(child.IdentityVersion) AS version
        FROM dms.ReferenceEdge AS edge
        CROSS JOIN LATERAL (SELECT IdentityVersion FROM dms.Document WHERE DocumentId = edge.ChildDocumentId OFFSET 0) AS child
        WHERE edge.ParentDocumentId = listed.DocumentId
        OFFSET 0
    ) AS newest_child;
    IF looked_at = 0 THEN
        IF NOT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('dms.IX_Document_MaxDepIdentityVersion') AND indisvalid) THEN
            RAISE EXCEPTION 'dms.IX_Document_MaxDepIdentityVersion is missing, or was not made to its end'
                USING ERRCODE = 'DJ006', HINT = 'DROP INDEX CONCURRENTLY IF EXISTS dms.IX_Document_MaxDepIdentityVersion; then dmsjournal fill.';
        END IF;
        DELETE FROM dms.MaxDepIdentityPending WHERE IsFill;
        PERFORM dms.raise_pending();
        RETURN 0;
    END IF;
    IF parents IS NOT NULL THEN
        UPDATE dms.Document SET MaxDepIdentityVersion = -1 WHERE DocumentId = ANY (parents);  -- a signal, as in raise_pending
    END IF;
    UPDATE dms.MaxDepIdentityPending SET DocumentId = last WHERE IsFill;
    RETURN looked_at;
END $$;
REVOKE EXECUTE ON FUNCTION dms.fill_max_dep(integer) FROM PUBLIC;
-- drop: DROP FUNCTION dms.fill_max_dep(integer);

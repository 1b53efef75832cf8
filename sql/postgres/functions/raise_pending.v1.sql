-- sql/postgres/functions/raise_pending.v1.sql: option max_dep_identity_version: raises the parents of the documents whose identity changed:
-- this transaction's, and what others left (a REPEATABLE READ transaction cannot see every edge, so it leaves its rows to the next one).
-- 1. The children, FOR UPDATE, in ascending DocumentId: waits for whoever has added an edge to one and not committed it, whose foreign
--    key check holds FOR KEY SHARE, and lets nobody add one until this transaction ends. Whoever adds one afterwards sees the new stamps.
-- 2. The parents, all of them in one statement, in ascending DocumentId, which is the order in which all our writers lock. One whose own
--    stamps are above what changed needs nothing, and is not locked.
CREATE FUNCTION dms.raise_pending() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    places tid[];
    children bigint[];
    parents bigint[];
BEGIN
    SELECT array_agg(place), array_agg(DISTINCT DocumentId) INTO places, children
    FROM (SELECT ctid AS place, DocumentId FROM dms.MaxDepIdentityPending WHERE NOT IsFill FOR UPDATE SKIP LOCKED) AS pending;
    IF children IS NULL THEN
        RETURN;
    END IF;
    DELETE FROM dms.MaxDepIdentityPending WHERE ctid = ANY (places);
    PERFORM FROM dms.Document WHERE DocumentId = ANY (children) ORDER BY DocumentId FOR UPDATE;
    SELECT array_agg(DISTINCT parent.DocumentId) INTO parents
    FROM unnest(children) AS listed (DocumentId)
    CROSS JOIN LATERAL (SELECT IdentityVersion FROM dms.Document WHERE DocumentId = listed.DocumentId OFFSET 0) AS child
    CROSS JOIN LATERAL (SELECT ParentDocumentId FROM dms.ReferenceEdge WHERE ChildDocumentId = listed.DocumentId OFFSET 0) AS edge
    CROSS JOIN LATERAL (
        SELECT DocumentId, greatest(ContentVersion, IdentityVersion, MaxDepIdentityVersion) AS version
        FROM dms.Document WHERE DocumentId = edge.ParentDocumentId OFFSET 0) AS parent
    WHERE parent.version < child.IdentityVersion;
    IF parents IS NOT NULL THEN
        UPDATE dms.Document SET MaxDepIdentityVersion = -1  -- a signal: keep_max_dep works it out under the lock
        WHERE DocumentId = ANY (parents);
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION dms.raise_pending() FROM PUBLIC;
-- drop: DROP FUNCTION dms.raise_pending();

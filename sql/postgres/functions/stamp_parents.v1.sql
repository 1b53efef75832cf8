-- sql/postgres/functions/stamp_parents.v1.sql: an edge that comes or goes changes its parent, so the parent is stamped (invariant 3),
-- unless this transaction stamped it already and above the identity stamps of the children involved. It did if it has itself
-- written the event of that stamp (is_own_row.v1.sql). The floor alone proves nothing, since a session can write the setting: it can only add
-- a stamp.
-- Fires: after insert or delete on dms.ReferenceEdge, once a statement; `changed` holds the edges. For an update the same is done by
-- stamp_repointed_parents.v1.sql. Keeps dms.ResourceDependency on the way.
-- Plans are kept for the session, so only those may exist that are right for one edge and for a million: each lookup is a
-- LATERAL that cannot be flattened (OFFSET 0), by index (the settings), and the update finds its rows from an array, in ascending
-- order of the key, which is the order in which all our writers lock. A plan that was dear once would be compiled at each call (jit).
-- A plan for one call's values seems cheaper than the kept one, which reckons with ten parents: each call would plan again (plan_cache_mode).
CREATE FUNCTION dms.stamp_parents() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER  -- writers of edges need no right on the journals
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    this_transaction bigint;
    floor bigint := coalesce(nullif(current_setting('dms.entered_at', true), '')::bigint, 9223372036854775807);
    parents bigint[];
    misfiled bigint[];
    children bigint[];
    repaired bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM changed) THEN
        RETURN NULL;
    END IF;
    this_transaction := pg_current_xact_id()::text;
    IF TG_OP = 'INSERT' AND EXISTS (
        SELECT FROM (SELECT DISTINCT ParentDocumentId, ParentResourceKeyId FROM changed) AS e
        LEFT JOIN LATERAL (SELECT ResourceKeyId FROM dms.Document WHERE DocumentId = e.ParentDocumentId OFFSET 0) AS p ON true
        WHERE e.ParentResourceKeyId = 0 OR p.ResourceKeyId <> e.ParentResourceKeyId) THEN
        -- The caller wrote another resource, or the parent came in the same statement, which the edge's own trigger could not see. The update sets
        -- the resource, and its trigger does for these edges what is done below.
        SELECT array_agg(e.ParentDocumentId), array_agg(e.ChildDocumentId) INTO misfiled, children
        FROM changed AS e
        LEFT JOIN LATERAL (SELECT ResourceKeyId FROM dms.Document WHERE DocumentId = e.ParentDocumentId OFFSET 0) AS p ON true
        WHERE e.ParentResourceKeyId = 0 OR p.ResourceKeyId <> e.ParentResourceKeyId;
        UPDATE dms.ReferenceEdge AS edge SET ParentResourceKeyId = 0
        FROM unnest(misfiled, children) AS w (parent, child)
        WHERE edge.ParentDocumentId = w.parent AND edge.ChildDocumentId = w.child
            AND EXISTS (SELECT FROM dms.Document WHERE DocumentId = w.parent);
        GET DIAGNOSTICS repaired = ROW_COUNT;
        IF repaired < cardinality(misfiled) THEN
            RAISE EXCEPTION 'the parent of an edge is hidden from role %, whose triggers stamp it', current_user
                USING ERRCODE = 'DJ008', HINT = 'Do not force row level security on the owner of dms.Document and dms.ReferenceEdge.';
        END IF;
    END IF;
    WITH involved AS MATERIALIZED (
        SELECT e.ParentDocumentId, e.ParentResourceKeyId, c.ResourceKeyId AS ChildResourceKeyId,
               coalesce(c.IdentityVersion, 9223372036854775807) AS IdentityVersion
        FROM changed AS e
        LEFT JOIN LATERAL (  -- a child that this statement deletes is not there: whatever its stamps were, the parent's is newer
            SELECT ResourceKeyId, IdentityVersion FROM dms.Document WHERE DocumentId = e.ChildDocumentId OFFSET 0) AS c ON true
        WHERE misfiled IS NULL OR (SELECT ResourceKeyId FROM dms.Document WHERE DocumentId = e.ParentDocumentId) = e.ParentResourceKeyId
    ), dependencies AS (
        INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
        SELECT pair.ParentResourceKeyId, pair.ChildResourceKeyId
        FROM (SELECT DISTINCT ParentResourceKeyId, ChildResourceKeyId FROM involved) AS pair
        WHERE TG_OP = 'INSERT' AND pair.ChildResourceKeyId IS NOT NULL AND pair.ParentResourceKeyId > 0 AND NOT EXISTS (
            SELECT FROM dms.ResourceDependency AS known
            WHERE known.ParentResourceKeyId = pair.ParentResourceKeyId AND known.ChildResourceKeyId = pair.ChildResourceKeyId)
        ORDER BY pair.ParentResourceKeyId, pair.ChildResourceKeyId
        ON CONFLICT DO NOTHING
    )
    SELECT array_agg(p.DocumentId) INTO parents
    FROM (SELECT ParentDocumentId, max(IdentityVersion) AS newest_child FROM involved GROUP BY ParentDocumentId) AS touched
    CROSS JOIN LATERAL (
        SELECT DocumentId, greatest(ContentVersion, IdentityVersion) AS local FROM dms.Document
        WHERE DocumentId = touched.ParentDocumentId OFFSET 0) AS p
    LEFT JOIN LATERAL (
        SELECT TransactionId FROM dms.DocumentChangeEvent
        WHERE ChangeVersion = p.local AND DocumentId = p.DocumentId AND dms.is_own_row(TransactionId, xmin, this_transaction)
        OFFSET 0) AS event ON true
    WHERE p.local < touched.newest_child OR p.local <= floor OR event.TransactionId IS DISTINCT FROM this_transaction;
    IF parents IS NOT NULL THEN
        UPDATE dms.Document SET ContentVersion = NULL  -- a signal: stamp_update draws the stamp
        WHERE DocumentId = ANY (parents);
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.stamp_parents() FROM PUBLIC;  -- else a temporary table with this trigger forges rows
-- drop: DROP FUNCTION dms.stamp_parents();

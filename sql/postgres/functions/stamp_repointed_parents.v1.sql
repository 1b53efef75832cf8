-- sql/postgres/functions/stamp_repointed_parents.v1.sql: an edge that is re-pointed changes the parent that it leaves and the one that it
-- comes to (invariant 3). Fires: after update on dms.ReferenceEdge, once a statement. What is said of stamp_parents.v1.sql holds here.
-- An update that leaves both ends as they are changes nothing; the old and the new rows are compared as sets, never joined.
CREATE FUNCTION dms.stamp_repointed_parents() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER  -- writers of edges need no right on the journals
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    this_transaction bigint;
    floor bigint := coalesce(nullif(current_setting('dms.entered_at', true), '')::bigint, 9223372036854775807);
    parents bigint[];
BEGIN
    IF NOT EXISTS (SELECT FROM added) THEN
        RETURN NULL;
    END IF;
    this_transaction := pg_current_xact_id()::text;
    WITH changed AS (
        SELECT *, true AS is_added
        FROM (SELECT ParentDocumentId, ChildDocumentId, ParentResourceKeyId FROM added
              EXCEPT SELECT ParentDocumentId, ChildDocumentId, ParentResourceKeyId FROM removed) AS came
        UNION ALL
        SELECT *, false
        FROM (SELECT ParentDocumentId, ChildDocumentId, ParentResourceKeyId FROM removed
              EXCEPT SELECT ParentDocumentId, ChildDocumentId, ParentResourceKeyId FROM added) AS went
    ), involved AS MATERIALIZED (
        SELECT e.ParentDocumentId, e.ParentResourceKeyId, e.is_added, c.ResourceKeyId AS ChildResourceKeyId,
               coalesce(c.IdentityVersion, 9223372036854775807) AS IdentityVersion
        FROM changed AS e
        LEFT JOIN LATERAL (  -- a child that this statement deletes is not there: whatever its stamps were, the parent's is newer
            SELECT ResourceKeyId, IdentityVersion FROM dms.Document WHERE DocumentId = e.ChildDocumentId OFFSET 0) AS c ON true
    ), dependencies AS (
        INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
        SELECT pair.ParentResourceKeyId, pair.ChildResourceKeyId
        FROM (SELECT DISTINCT ParentResourceKeyId, ChildResourceKeyId FROM involved WHERE is_added) AS pair
        WHERE pair.ChildResourceKeyId IS NOT NULL AND pair.ParentResourceKeyId > 0 AND NOT EXISTS (
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
REVOKE EXECUTE ON FUNCTION dms.stamp_repointed_parents() FROM PUBLIC;  -- else a temporary table with this trigger forges rows
-- drop: DROP FUNCTION dms.stamp_repointed_parents();

-- sql/postgres/functions/keep_max_dep.v1.sql: option max_dep_identity_version: a changed MaxDepIdentityVersion is a signal to work it out,
-- whatever value a caller writes. The row is locked by then, and each statement here has a snapshot of its own (READ COMMITTED), so no
-- edge is seen that was gone before the lock; see docs/how-it-works.md, The stored maximum. It only rises.
-- Fires: before insert and update on dms.Document, each row that has another value than the default or than before (the trigger's WHEN).
CREATE FUNCTION dms.keep_max_dep() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN  -- an edge is above what it refers to when it comes (invariant 3): there is nothing to say yet
        NEW.MaxDepIdentityVersion := 0;
        RETURN NEW;
    END IF;
    NEW.MaxDepIdentityVersion := greatest(OLD.MaxDepIdentityVersion, (
        SELECT max(child.IdentityVersion)
        FROM dms.ReferenceEdge AS edge
        CROSS JOIN LATERAL (SELECT IdentityVersion FROM dms.Document WHERE DocumentId = edge.ChildDocumentId OFFSET 0) AS child
        WHERE edge.ParentDocumentId = OLD.DocumentId AND edge.ChildDocumentId <> OLD.DocumentId));
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION dms.keep_max_dep() FROM PUBLIC;
-- drop: DROP FUNCTION dms.keep_max_dep();

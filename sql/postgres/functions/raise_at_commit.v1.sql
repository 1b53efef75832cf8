-- sql/postgres/functions/raise_at_commit.v1.sql: option max_dep_identity_version: the first row that is pending raises the parents of all.
-- Fires: after insert on dms.MaxDepIdentityPending, each row, when the transaction commits: so parents are locked once, in one order, and
-- for as long as a commit takes. The row that it fires for is gone where an earlier one took it.
-- In REPEATABLE READ and SERIALIZABLE the snapshot may be older than an edge, and nothing would tell: the rows stay.
CREATE FUNCTION dms.raise_at_commit() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    IF current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')
        AND EXISTS (SELECT FROM dms.MaxDepIdentityPending WHERE DocumentId = NEW.DocumentId AND NOT IsFill) THEN
        PERFORM dms.raise_pending();
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.raise_at_commit() FROM PUBLIC;
-- drop: DROP FUNCTION dms.raise_at_commit();

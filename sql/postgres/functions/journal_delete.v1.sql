-- sql/postgres/functions/journal_delete.v1.sql: one tombstone a deleted document, above all of its stamps (invariant 7).
-- Edges that are still there mean that the statement inserted another document under the id of one that is referred to, which the
-- foreign key lets pass: the parents would come to refer to another identity unnoticed.
-- Fires: after delete on dms.Document, once a statement. Twin: sql/sqlserver/triggers/document_delete.v1.sql.
CREATE FUNCTION dms.journal_delete() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER  -- writers have no right on the journals
SET search_path = pg_catalog, pg_temp  -- fixed: a restore empties it (acceptance 58), a caller may poison it
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$  -- right for one row and for a million: see stamp_parents.v1.sql
DECLARE
    this_transaction bigint;
    referred bigint;
    referrer bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM deleted) THEN  -- nothing deleted: no lock, no stamp (invariant 1)
        RETURN NULL;
    END IF;
    SELECT edge.ChildDocumentId, edge.ParentDocumentId INTO referred, referrer
    FROM deleted AS d
    CROSS JOIN LATERAL (
        SELECT ChildDocumentId, ParentDocumentId FROM dms.ReferenceEdge WHERE ChildDocumentId = d.DocumentId LIMIT 1) AS edge
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'document % cannot be replaced: document % refers to it', referred, referrer
            USING ERRCODE = 'foreign_key_violation', HINT = 'Update it, or remove the reference first.';
    END IF;
    PERFORM dms.enter_change();  -- the lock first, then the stamps (invariant 5)
    this_transaction := pg_current_xact_id()::text;
    INSERT INTO dms.DocumentDeleteEvent
        (ChangeVersion, DocumentId, DocumentUuid, ResourceKeyId, KeyValues, TransactionId, CreatedAt)
    SELECT nextval('dms.changeversionsequence'), DocumentId, DocumentUuid, ResourceKeyId, KeyValues,
           this_transaction, clock_timestamp()
    FROM deleted;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.journal_delete() FROM PUBLIC;  -- else a temporary table with this trigger forges rows

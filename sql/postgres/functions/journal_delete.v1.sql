-- sql/postgres/functions/journal_delete.v1.sql: one tombstone a deleted document, above all of its stamps (invariant 7).
-- Fires: after delete on dms.Document, once a statement. Twin: sql/sqlserver/triggers/document_delete.v1.sql.
CREATE FUNCTION dms.journal_delete() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER  -- writers have no right on the journals
SET search_path = pg_catalog, pg_temp AS $$  -- fixed: a restore empties it (acceptance 58), a caller may poison it
DECLARE
    this_transaction bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM deleted) THEN  -- nothing deleted: no lock, no stamp (invariant 1)
        RETURN NULL;
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

-- sql/postgres/functions/journal_insert.v1.sql: one document event an inserted document (invariant 2). No identity event: a first
-- identity stamp is never a witness for a parent (invariant 3).
-- Fires: after insert on dms.Document, once a statement. Twin: sql/sqlserver/triggers/document_stamp.v1.sql.
CREATE FUNCTION dms.journal_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER  -- writers have no right on the journals
SET search_path = pg_catalog, pg_temp SET row_security = off  -- fixed: a restore empties it (acceptance 58), a caller may poison it
SET jit = off AS $$  -- the plan of a large first statement is kept for small ones: see stamp_parents.v1.sql
DECLARE
    this_transaction bigint;
    floor bigint := nullif(current_setting('dms.entered_at', true), '');
    first bigint := (SELECT min(ContentVersion) FROM inserted);
BEGIN
    IF first <= floor THEN  -- checked here and not in stamp_insert: once a statement
        RAISE EXCEPTION 'stamp % is not above %, where its transaction entered', first, floor
            USING ERRCODE = 'DJ003', HINT = 'dms.entered_at belongs to dmsjournal: do not write it. dms.ChangeVersionSequence must keep CACHE 1.';
    END IF;
    this_transaction := pg_current_xact_id()::text;
    INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt)
    SELECT greatest(ContentVersion, IdentityVersion), DocumentId, ResourceKeyId, 'insert', this_transaction,
           ContentLastModifiedAt
    FROM inserted;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.journal_insert() FROM PUBLIC;  -- else a temporary table with this trigger forges rows
-- drop: DROP FUNCTION dms.journal_insert();

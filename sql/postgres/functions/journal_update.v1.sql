-- sql/postgres/functions/journal_update.v1.sql: one document event for each document that the statement stamped (invariant 2).
-- Fires: after update on dms.Document, once a statement. Twin: sql/sqlserver/triggers/document_stamp.v1.sql.
-- The new rows alone tell: a version above this transaction's floor was stamped by this transaction, and the key of the journal
-- absorbs one that an earlier statement of it has journaled. The old rows are never joined: a session keeps the plan of its
-- first call, and no kept join of two transition tables is right for one row and for a million (docs/how-it-works.md, Kept plans).
CREATE FUNCTION dms.journal_update() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER  -- writers have no right on the journals
SET search_path = pg_catalog, pg_temp SET row_security = off  -- fixed: a restore empties it (acceptance 58), a caller may poison it
SET jit = off AS $$  -- the plan of a large first statement is kept for small ones: see stamp_parents.v1.sql
DECLARE
    this_transaction bigint;
    floor bigint := nullif(current_setting('dms.entered_at', true), '');
BEGIN
    IF floor IS NULL OR EXISTS (SELECT FROM inserted WHERE greatest(ContentVersion, IdentityVersion) <= floor) THEN
        IF NOT EXISTS (SELECT FROM inserted) THEN
            RETURN NULL;
        END IF;
        -- A row at or below the floor was not stamped, unless the session wrote the setting meanwhile (RETURNING can): the
        -- floors that it really holds say so, and it cannot let go of those.
        floor := (SELECT min(held.floor) FROM dms.held_floors() AS held WHERE held.pid = pg_backend_pid());
        IF floor IS NULL THEN  -- this transaction has stamped nothing
            RETURN NULL;
        END IF;
    END IF;
    -- Whatever floor a session makes itself, what was pruned does not come back.
    floor := greatest(floor, (SELECT ChangeVersion FROM dms.JournalFloor WHERE Journal = 'DocumentChangeEvent'));
    this_transaction := pg_current_xact_id()::text;
    INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt)
    SELECT greatest(ContentVersion, IdentityVersion), DocumentId, ResourceKeyId, 'update', this_transaction,
           CASE WHEN ContentVersion >= IdentityVersion THEN ContentLastModifiedAt ELSE IdentityLastModifiedAt END
    FROM inserted
    WHERE greatest(ContentVersion, IdentityVersion) > floor
    ON CONFLICT (ChangeVersion, DocumentId) DO NOTHING;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.journal_update() FROM PUBLIC;  -- else a temporary table with this trigger forges rows
-- drop: DROP FUNCTION dms.journal_update();

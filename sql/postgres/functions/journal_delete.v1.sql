-- sql/postgres/functions/journal_delete.v1.sql: one tombstone a deleted document, above all of its stamps (invariant 7).
-- A statement that deletes a document and inserts another under its id or uuid is refused: the new one would live at a stamp below the
-- tombstone, and the foreign key lets pass that its parents refer to another identity now, which no snapshot of ours shows for certain.
-- Fires: after delete on dms.Document, once a statement. Twin: sql/sqlserver/triggers/document_delete.v1.sql.
CREATE FUNCTION dms.journal_delete() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER  -- writers have no right on the journals
SET search_path = pg_catalog, pg_temp SET row_security = off  -- fixed: a restore empties it (acceptance 58), a caller may poison it
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$  -- right for one row and for a million: see stamp_parents.v1.sql
DECLARE
    this_transaction bigint;
    replaced bigint;
    floor bigint;
    first bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM deleted) THEN  -- nothing deleted: no lock, no stamp (invariant 1)
        RETURN NULL;
    END IF;
    SELECT d.DocumentId INTO replaced
    FROM deleted AS d
    CROSS JOIN LATERAL (
        (SELECT FROM dms.Document WHERE DocumentId = d.DocumentId) UNION ALL (SELECT FROM dms.Document WHERE DocumentUuid = d.DocumentUuid)
        LIMIT 1) AS again
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'document % cannot be replaced by the statement that deletes it', replaced
            USING ERRCODE = 'DJ002', HINT = 'Update it, or insert another one with an id and a uuid of its own.';
    END IF;
    floor := dms.enter_change();  -- the lock first, then the stamps (invariant 5)
    this_transaction := pg_current_xact_id()::text;
    WITH tombstone AS (
        INSERT INTO dms.DocumentDeleteEvent
            (ChangeVersion, DocumentId, DocumentUuid, ResourceKeyId, KeyValues, TransactionId, CreatedAt)
        SELECT nextval('dms.changeversionsequence'), DocumentId, DocumentUuid, ResourceKeyId, KeyValues,
               this_transaction, clock_timestamp()
        FROM deleted
        RETURNING ChangeVersion
    )
    SELECT min(ChangeVersion) INTO first FROM tombstone;
    IF first <= floor THEN
        RAISE EXCEPTION 'stamp % is not above %, where its transaction entered', first, floor
            USING ERRCODE = 'DJ003', HINT = 'dms.entered_at belongs to dmsjournal: do not write it. dms.ChangeVersionSequence must keep CACHE 1.';
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION dms.journal_delete() FROM PUBLIC;  -- else a temporary table with this trigger forges rows
-- drop: DROP FUNCTION dms.journal_delete();

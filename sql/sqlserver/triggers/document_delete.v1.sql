-- sql/sqlserver/triggers/document_delete.v1.sql: one tombstone a deleted document, above all of its stamps (invariant 7).
-- A statement that deletes a document and inserts another under its id or uuid (MERGE) is refused: the new one would live at a stamp below
-- the tombstone, and its parents would come to refer to another identity unnoticed.
-- Fires: after delete on dms.Document, once a statement.
CREATE TRIGGER dms.TR_Document_Delete ON dms.Document AFTER DELETE
AS
BEGIN
    IF NOT EXISTS (SELECT * FROM deleted)
        RETURN;  -- nothing deleted: no lock, no stamp (invariant 1)
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's, of which the sequence wants none; it is the caller's again on return
    DECLARE @floor bigint, @transaction_id bigint;
    IF EXISTS (SELECT * FROM deleted AS old INNER LOOP JOIN dms.Document AS again ON again.DocumentId = old.DocumentId)
       OR EXISTS (SELECT * FROM deleted AS old INNER LOOP JOIN dms.Document AS again ON again.DocumentUuid = old.DocumentUuid)
        THROW 50002, N'a document cannot be replaced by the statement that deletes it. Update it, or insert another one with an id and a uuid of its own.', 1;
    EXEC dms.enter_change @floor OUTPUT, @transaction_id OUTPUT;  -- the lock first, then the stamps (invariant 5)
    INSERT INTO dms.DocumentDeleteEvent (ChangeVersion, DocumentId, DocumentUuid, ResourceKeyId, KeyValues, TransactionId, CreatedAt)
    SELECT NEXT VALUE FOR dms.ChangeVersionSequence, DocumentId, DocumentUuid, ResourceKeyId, KeyValues, @transaction_id, SYSUTCDATETIME()
    FROM deleted;
END;

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
    DECLARE @floor bigint, @transaction_id bigint, @again bigint;
    DECLARE @tombstones TABLE (DocumentId bigint NOT NULL PRIMARY KEY, Stamp bigint NULL);
    -- By a hint on the query: one on the join would send every caller the warning 8625.
    SELECT TOP (1) @again = again.DocumentId FROM deleted AS old INNER JOIN dms.Document AS again ON again.DocumentId = old.DocumentId
    OPTION (LOOP JOIN, FORCE ORDER);
    SELECT TOP (1) @again = again.DocumentId FROM deleted AS old INNER JOIN dms.Document AS again ON again.DocumentUuid = old.DocumentUuid
    OPTION (LOOP JOIN, FORCE ORDER);
    IF @again IS NOT NULL
        THROW 50002, N'a document cannot be replaced by the statement that deletes it. Update it, or insert another one with an id and a uuid of its own.', 1;
    EXEC dms.enter_change @floor OUTPUT, @transaction_id OUTPUT;  -- the lock first, then the stamps (invariant 5)
    INSERT INTO @tombstones (DocumentId) SELECT DocumentId FROM deleted;
    UPDATE @tombstones SET Stamp = NEXT VALUE FOR dms.ChangeVersionSequence;
    UPDATE @tombstones SET Stamp = NEXT VALUE FOR dms.ChangeVersionSequence WHERE Stamp <= @floor;  -- after a restart: newest_stamp.v1.sql
    IF EXISTS (SELECT * FROM @tombstones WHERE Stamp <= @floor)
        THROW 50003, N'dms.entered_at holds a floor that no transaction can have entered at. The session context belongs to dmsjournal: roll back, and do not write it.', 1;
    INSERT INTO dms.DocumentDeleteEvent (ChangeVersion, DocumentId, DocumentUuid, ResourceKeyId, KeyValues, TransactionId, CreatedAt)
    SELECT tombstone.Stamp, old.DocumentId, old.DocumentUuid, old.ResourceKeyId, old.KeyValues, @transaction_id, SYSUTCDATETIME()
    FROM @tombstones AS tombstone INNER JOIN deleted AS old ON old.DocumentId = tombstone.DocumentId
    OPTION (HASH JOIN);  -- a nested loop, kept from a statement of one row, compares each row with all others
END;
-- drop: DROP TRIGGER dms.TR_Document_Delete;

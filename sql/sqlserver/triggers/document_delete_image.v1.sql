-- sql/sqlserver/triggers/document_delete_image.v1.sql: option images: each tombstone has an image, of the last body: the foreign key has
-- taken that away, and it waits (TR_DocumentCache_Image: triggers fire in the opposite order of the cascade), or comes afterwards.
-- A document of a resource in ImageExclusion has none.
-- Fires: after delete on dms.Document, once a statement, after TR_Document_Delete (document_delete_first.v1.sql).
CREATE TRIGGER dms.TR_Document_DeleteImage ON dms.Document AFTER DELETE
AS
BEGIN
    IF NOT EXISTS (SELECT * FROM deleted)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @floor bigint, @transaction_id bigint;
    EXEC dms.this_transaction @transaction_id OUTPUT;
    EXEC dms.remembered_floor @transaction_id, @floor OUTPUT;
    INSERT INTO dms.DocumentImage (ChangeVersion, DocumentId, IsDelete, BodyBefore, BodyAfter)
    SELECT tombstone.ChangeVersion, old.DocumentId, 1, waiting.BodyBefore, NULL
    FROM deleted AS old
    INNER JOIN dms.DocumentDeleteEvent AS tombstone ON tombstone.DocumentUuid = old.DocumentUuid
    LEFT JOIN dms.DocumentImage AS waiting ON waiting.DocumentId = old.DocumentId AND waiting.ChangeVersion = CAST(9223372036854775807 AS bigint)
    WHERE tombstone.ChangeVersion > @floor AND tombstone.TransactionId = @transaction_id AND tombstone.DocumentId = old.DocumentId
      AND NOT EXISTS (SELECT * FROM dms.ImageExclusion AS excluded WHERE excluded.ResourceKeyId = old.ResourceKeyId)
    OPTION (LOOP JOIN, FORCE ORDER);
    DELETE image
    FROM deleted AS old INNER JOIN dms.DocumentImage AS image ON image.DocumentId = old.DocumentId AND image.ChangeVersion = CAST(9223372036854775807 AS bigint)
    OPTION (LOOP JOIN, FORCE ORDER);
END;
-- drop: DROP TRIGGER dms.TR_Document_DeleteImage;

-- sql/sqlserver/triggers/document_cache_image.v1.sql: option images: a body that changed is kept as it was and as it is, at the stamp that
-- this transaction gave its document; without one it waits for the document's next event, whoever stamps that (docs/how-it-works.md, Images).
-- Fires: after insert, update and delete on dms.DocumentCache, once a statement; after the foreign key took a body away it may fire more
-- than once with the same rows, which changes nothing.
-- Whose stamp it is, the journal says: another transaction's may be above this one's floor, and ids come again when the server restarts.
-- Of a resource in ImageExclusion nothing is kept; the body of a deleted document waits, if its tombstone is not there yet, and goes with that.
-- Text is compared by its bytes: collations find Ada and ada, or trailing blanks, the same.
CREATE TRIGGER dms.TR_DocumentCache_Image ON dms.DocumentCache AFTER INSERT, UPDATE, DELETE
AS
BEGIN
    IF NOT EXISTS (SELECT * FROM inserted) AND NOT EXISTS (SELECT * FROM deleted)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @floor bigint, @transaction_id bigint, @waiting bigint = 9223372036854775807;
    DECLARE @changed TABLE (DocumentId bigint NOT NULL PRIMARY KEY, Stamp bigint NULL, IsGone bit NOT NULL DEFAULT 0,
                            BodyBefore nvarchar(max) NULL, BodyAfter nvarchar(max) NULL);
    INSERT INTO @changed (DocumentId, BodyBefore, BodyAfter)
    SELECT COALESCE(new.DocumentId, old.DocumentId), old.DocumentJson, new.DocumentJson
    FROM inserted AS new FULL OUTER JOIN deleted AS old ON old.DocumentId = new.DocumentId
    WHERE new.DocumentId IS NULL OR old.DocumentId IS NULL OR DATALENGTH(new.DocumentJson) <> DATALENGTH(old.DocumentJson)
       OR new.DocumentJson COLLATE Latin1_General_100_BIN2 <> old.DocumentJson COLLATE Latin1_General_100_BIN2
    OPTION (HASH JOIN);  -- a nested loop, kept from a statement of one row, compares each new row with all old ones
    IF EXISTS (SELECT * FROM dms.ImageExclusion)
        DELETE changed
        FROM @changed AS changed
        INNER JOIN dms.Document AS document ON document.DocumentId = changed.DocumentId
        INNER JOIN dms.ImageExclusion AS excluded ON excluded.ResourceKeyId = document.ResourceKeyId
        OPTION (LOOP JOIN, FORCE ORDER);
    IF NOT EXISTS (SELECT * FROM @changed)
        RETURN;

    EXEC dms.this_transaction @transaction_id OUTPUT;
    EXEC dms.remembered_floor @transaction_id, @floor OUTPUT;
    IF @floor IS NOT NULL
        UPDATE changed SET Stamp = event.ChangeVersion
        FROM @changed AS changed
        INNER JOIN dms.Document AS document ON document.DocumentId = changed.DocumentId
        INNER JOIN dms.DocumentChangeEvent AS event
            ON event.ChangeVersion = CASE WHEN document.ContentVersion > document.IdentityVersion THEN document.ContentVersion
                                          ELSE document.IdentityVersion END
           AND event.DocumentId = document.DocumentId
        WHERE event.ChangeVersion > @floor AND event.TransactionId = @transaction_id
        OPTION (LOOP JOIN, FORCE ORDER);
    -- Of a document that is gone: its tombstone's image, where that is there already; else the body waits for it.
    UPDATE changed SET Stamp = newest.ChangeVersion, IsGone = 1
    FROM @changed AS changed
    OUTER APPLY (SELECT TOP (1) ChangeVersion, IsDelete FROM dms.DocumentImage
                 WHERE DocumentId = changed.DocumentId AND ChangeVersion < @waiting ORDER BY ChangeVersion DESC) AS image
    OUTER APPLY (SELECT image.ChangeVersion WHERE image.IsDelete = 1 AND image.ChangeVersion > @floor) AS newest
    WHERE changed.BodyAfter IS NULL
      AND NOT EXISTS (SELECT * FROM dms.Document AS document WHERE document.DocumentId = changed.DocumentId)
    OPTION (LOOP JOIN, FORCE ORDER);
    UPDATE image SET BodyBefore = changed.BodyBefore
    FROM @changed AS changed INNER JOIN dms.DocumentImage AS image ON image.ChangeVersion = changed.Stamp AND image.DocumentId = changed.DocumentId
    WHERE changed.IsGone = 1
    OPTION (LOOP JOIN, FORCE ORDER);
    DELETE FROM @changed WHERE IsGone = 1 AND Stamp IS NOT NULL;
    IF EXISTS (SELECT * FROM dms.ImageExclusion) AND EXISTS (SELECT * FROM @changed WHERE IsGone = 1)
        DELETE changed  -- of a resource that has no images, and its tombstone is there: nothing will come for the body
        FROM @changed AS changed
        INNER JOIN dms.DocumentDeleteEvent AS tombstone ON tombstone.DocumentId = changed.DocumentId
        INNER JOIN dms.ImageExclusion AS excluded ON excluded.ResourceKeyId = tombstone.ResourceKeyId
        WHERE changed.IsGone = 1 AND tombstone.ChangeVersion > @floor AND tombstone.TransactionId = @transaction_id
        OPTION (HASH JOIN);
    UPDATE changed SET BodyBefore = image.BodyBefore  -- it did not change at any event since
    FROM @changed AS changed INNER JOIN dms.DocumentImage AS image ON image.DocumentId = changed.DocumentId AND image.ChangeVersion = @waiting
    WHERE changed.IsGone = 0
    OPTION (LOOP JOIN, FORCE ORDER);
    DELETE image
    FROM @changed AS changed INNER JOIN dms.DocumentImage AS image ON image.DocumentId = changed.DocumentId AND image.ChangeVersion = @waiting
    OPTION (LOOP JOIN, FORCE ORDER);
    UPDATE image SET BodyAfter = changed.BodyAfter  -- it changed at this stamp before
    FROM @changed AS changed INNER JOIN dms.DocumentImage AS image ON image.ChangeVersion = changed.Stamp AND image.DocumentId = changed.DocumentId
    OPTION (LOOP JOIN, FORCE ORDER);
    INSERT INTO dms.DocumentImage (ChangeVersion, DocumentId, IsDelete, BodyBefore, BodyAfter)
    SELECT COALESCE(changed.Stamp, @waiting), changed.DocumentId, 0, changed.BodyBefore, changed.BodyAfter
    FROM @changed AS changed
    WHERE NOT EXISTS (SELECT * FROM dms.DocumentImage AS known
                      WHERE known.ChangeVersion = changed.Stamp AND known.DocumentId = changed.DocumentId)
    OPTION (LOOP JOIN, FORCE ORDER);
END;
-- drop: DROP TRIGGER dms.TR_DocumentCache_Image;

-- sql/sqlserver/triggers/document_image.v1.sql: option images: what waits for the document's next event has met it.
-- Fires: after update on dms.Document, once a statement, also for what TR_Document_Stamp writes. Whichever trigger is first: a stamp is
-- believed where the journal has it as this transaction's. An inserted document has no body that could wait.
-- It may wait for whoever writes the body at this moment, and a deadlock of the two (1205) can be run again. PostgreSQL skips such a row;
-- READPAST would refuse writers in SERIALIZABLE and SNAPSHOT.
CREATE TRIGGER dms.TR_Document_Image ON dms.Document AFTER UPDATE
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @waiting bigint;
    SELECT TOP (1) @waiting = image.DocumentId
    FROM inserted AS new INNER JOIN dms.DocumentImage AS image ON image.DocumentId = new.DocumentId AND image.ChangeVersion = CAST(9223372036854775807 AS bigint)
    OPTION (LOOP JOIN, FORCE ORDER);  -- a hint on the join itself would send every caller the warning 8625
    IF @waiting IS NULL
        RETURN;
    DECLARE @floor bigint, @transaction_id bigint;
    EXEC dms.this_transaction @transaction_id OUTPUT;
    EXEC dms.remembered_floor @transaction_id, @floor OUTPUT;
    UPDATE image SET ChangeVersion = event.ChangeVersion
    FROM inserted AS new
    INNER JOIN dms.Document AS document ON document.DocumentId = new.DocumentId
    INNER JOIN dms.DocumentChangeEvent AS event
        ON event.ChangeVersion = CASE WHEN document.ContentVersion > document.IdentityVersion THEN document.ContentVersion
                                      ELSE document.IdentityVersion END
       AND event.DocumentId = document.DocumentId
    INNER JOIN dms.DocumentImage AS image ON image.DocumentId = new.DocumentId AND image.ChangeVersion = CAST(9223372036854775807 AS bigint)
    WHERE event.ChangeVersion > @floor AND event.TransactionId = @transaction_id
    OPTION (LOOP JOIN, FORCE ORDER);
END;
-- drop: DROP TRIGGER dms.TR_Document_Image;

-- sql/sqlserver/procedures/register_consumer.v1.sql: registers a consumer, which belongs to the user that asks for it. Gives its name, no row where
-- the name is taken. @document_id is exclusive; @feed_token may be null.
-- Who registers needs EXECUTE on this, and no right on the table: with UPDATE it could lock the table, or another consumer's row.
CREATE PROCEDURE dms.register_consumer @name nvarchar(256), @change_version bigint, @document_id bigint, @feed_token varchar(4096)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @rows int;
    EXEC dms.lock_consumers N'Shared';
    INSERT INTO dms.ChangeConsumer
        (Name, ChangeVersion, DocumentId, FeedToken, EventVersion, EventDocumentId, EventTransactionId, EventAt, Owner)
    SELECT new.Name, @change_version, @document_id, @feed_token, event.ChangeVersion, event.DocumentId, event.TransactionId, event.CreatedAt, USER_NAME()
    FROM (SELECT @name AS Name) AS new
    OUTER APPLY (
        SELECT TOP (1) either.ChangeVersion, either.DocumentId, either.TransactionId, either.CreatedAt
        FROM (
            SELECT changed.ChangeVersion, changed.DocumentId, changed.TransactionId, changed.CreatedAt
            FROM (SELECT TOP (1) ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentChangeEvent
                  WHERE ChangeVersion <= @change_version ORDER BY ChangeVersion DESC, DocumentId DESC) AS changed
            UNION ALL
            SELECT deleted.ChangeVersion, deleted.DocumentId, deleted.TransactionId, deleted.CreatedAt
            FROM (SELECT TOP (1) ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentDeleteEvent
                  WHERE ChangeVersion <= @change_version ORDER BY ChangeVersion DESC) AS deleted
        ) AS either
        ORDER BY either.ChangeVersion DESC, either.DocumentId DESC
    ) AS event
    WHERE NOT EXISTS (SELECT * FROM dms.ChangeConsumer AS known WITH (UPDLOCK, HOLDLOCK) WHERE known.Name = @name);
    SET @rows = @@ROWCOUNT;
    SELECT @name AS name WHERE @rows = 1;
END;
-- drop: DROP PROCEDURE dms.register_consumer;

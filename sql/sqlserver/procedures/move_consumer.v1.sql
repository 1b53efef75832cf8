-- sql/sqlserver/procedures/move_consumer.v1.sql: moves a consumer of the user that asks for it (check_consumer). Gives its name, no row where it
-- has moved past the place already and may not go back. @document_id is exclusive; @feed_token may be null. See register_consumer.v1.sql.
CREATE PROCEDURE dms.move_consumer
    @name nvarchar(256), @change_version bigint, @document_id bigint, @feed_token varchar(4096), @backwards bit
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;  -- the caller's; it is the caller's again on return
    DECLARE @rows int, @owner nvarchar(128);
    EXEC dms.lock_consumers N'Shared';
    EXEC dms.check_consumer @name, @owner OUTPUT;
    UPDATE consumer
    SET ChangeVersion = @change_version, DocumentId = @document_id, FeedToken = @feed_token, UpdatedAt = SYSUTCDATETIME(),
        EventVersion = event.ChangeVersion, EventDocumentId = event.DocumentId,
        EventTransactionId = event.TransactionId, EventAt = event.CreatedAt
    FROM dms.ChangeConsumer AS consumer
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
    WHERE consumer.Name = @name AND consumer.Owner = @owner
      AND (@backwards = 1 OR consumer.ChangeVersion < @change_version
           OR (consumer.ChangeVersion = @change_version AND consumer.DocumentId <= @document_id));
    SET @rows = @@ROWCOUNT;
    SELECT @name AS name WHERE @rows = 1;
END;
-- drop: DROP PROCEDURE dms.move_consumer;

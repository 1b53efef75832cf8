-- sql/sqlserver/queries/update_consumer.sql: moves a consumer; no row where it has moved past the place already, and may not go back.
-- Binds: name; change_version (at most a horizon read before), document_id (exclusive); feed_token (null: none); backwards (1 or 0). Gives: name.
SET NOCOUNT ON;
DECLARE @name nvarchar(256) = :name, @change_version bigint = :change_version, @document_id bigint = :document_id,
        @feed_token varchar(4096) = :feed_token, @backwards bit = :backwards;
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
WHERE consumer.Name = @name
  AND (@backwards = 1 OR consumer.ChangeVersion < @change_version
       OR (consumer.ChangeVersion = @change_version AND consumer.DocumentId <= @document_id));
SELECT @name AS name WHERE @@ROWCOUNT = 1;

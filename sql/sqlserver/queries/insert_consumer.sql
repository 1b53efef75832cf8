-- sql/sqlserver/queries/insert_consumer.sql: registers a consumer; no row where the name is taken.
-- Binds: name; change_version (at most a horizon read before), document_id (exclusive); feed_token (null: none). Gives: name.
SET NOCOUNT ON;
DECLARE @name nvarchar(256) = :name, @change_version bigint = :change_version, @document_id bigint = :document_id,
        @feed_token varchar(4096) = :feed_token;
INSERT INTO dms.ChangeConsumer
    (Name, ChangeVersion, DocumentId, FeedToken, EventVersion, EventDocumentId, EventTransactionId, EventAt)
SELECT new.Name, @change_version, @document_id, @feed_token, event.ChangeVersion, event.DocumentId, event.TransactionId, event.CreatedAt
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
SELECT @name AS name WHERE @@ROWCOUNT = 1;

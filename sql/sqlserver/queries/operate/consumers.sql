-- sql/sqlserver/queries/operate/consumers.sql: the registered consumers by name, and what tells whether the database's history still leads to each.
-- Binds: name (null for all).
-- Gives: name, change_version, document_id (the cursor, exclusive), updated_at; event_version, the last event's at or below the cursor when
--   it was set, found_version, that event's now (null: none), is_same, whether the two are one; floor, the highest of all journals,
--   event_floor, the higher of the two that were looked in; drawn, the newest stamp that the sequence has given.
-- Plan: the consumers, and for each a lookup in the primary keys of two journals. The floors are read after the events: see deletes.sql.
SET NOCOUNT ON;
DECLARE @name nvarchar(256) = :name, @drawn bigint;
DECLARE @consumer TABLE (
    Name          nvarchar(256) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
    ChangeVersion bigint       NOT NULL,
    DocumentId    bigint       NOT NULL,
    UpdatedAt     datetime2(7) NOT NULL,
    EventVersion  bigint       NULL,
    FoundVersion  bigint       NULL,
    IsSame        bit          NOT NULL
);
INSERT INTO @consumer (Name, ChangeVersion, DocumentId, UpdatedAt, EventVersion, FoundVersion, IsSame)
SELECT consumer.Name, consumer.ChangeVersion, consumer.DocumentId, consumer.UpdatedAt, consumer.EventVersion, event.ChangeVersion,
       CASE WHEN (consumer.EventVersion IS NULL AND event.ChangeVersion IS NULL)
                 OR (consumer.EventVersion = event.ChangeVersion AND consumer.EventDocumentId = event.DocumentId
                     AND consumer.EventTransactionId = event.TransactionId AND consumer.EventAt = event.CreatedAt) THEN 1 ELSE 0 END
FROM dms.ChangeConsumer AS consumer
OUTER APPLY (
    SELECT TOP (1) either.ChangeVersion, either.DocumentId, either.TransactionId, either.CreatedAt
    FROM (
        SELECT changed.ChangeVersion, changed.DocumentId, changed.TransactionId, changed.CreatedAt
        FROM (SELECT TOP (1) ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentChangeEvent
              WHERE ChangeVersion <= consumer.ChangeVersion ORDER BY ChangeVersion DESC, DocumentId DESC) AS changed
        UNION ALL
        SELECT deleted.ChangeVersion, deleted.DocumentId, deleted.TransactionId, deleted.CreatedAt
        FROM (SELECT TOP (1) ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentDeleteEvent
              WHERE ChangeVersion <= consumer.ChangeVersion ORDER BY ChangeVersion DESC) AS deleted
    ) AS either
    ORDER BY either.ChangeVersion DESC, either.DocumentId DESC
) AS event
WHERE @name IS NULL OR consumer.Name = @name;
EXEC dms.newest_stamp @drawn OUTPUT;
SELECT consumer.Name AS name, consumer.ChangeVersion AS change_version, consumer.DocumentId AS document_id, consumer.UpdatedAt AS updated_at,
       consumer.EventVersion AS event_version, consumer.FoundVersion AS found_version, consumer.IsSame AS is_same,
       floors.floor, floors.event_floor, @drawn AS drawn
FROM @consumer AS consumer
CROSS JOIN (
    SELECT MAX(ChangeVersion) AS floor,
           MAX(CASE WHEN Journal IN (N'DocumentChangeEvent', N'DocumentDeleteEvent') THEN ChangeVersion END) AS event_floor
    FROM dms.JournalFloor
) AS floors
ORDER BY consumer.Name;

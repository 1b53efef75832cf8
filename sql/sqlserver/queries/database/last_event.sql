-- sql/sqlserver/queries/database/last_event.sql: the last event at or below a version, by which a checkpoint knows its history again (invariant 9).
-- Binds: version (inclusive, at most a horizon read before).
-- Gives: one row: event_version, document_id, transaction_id, created_at, null where there is no event; floor, the highest of all
--   journals, event_floor, the higher of the two that were looked in; drawn, the newest stamp that the sequence has given.
-- Plan: a lookup in the primary keys of two journals. The floors are read after the events: see deletes.sql.
SET NOCOUNT ON;
DECLARE @version bigint = :version, @drawn bigint;
DECLARE @event TABLE (ChangeVersion bigint NOT NULL, DocumentId bigint NOT NULL, TransactionId bigint NOT NULL, CreatedAt datetime2(7) NOT NULL);
INSERT INTO @event (ChangeVersion, DocumentId, TransactionId, CreatedAt)
SELECT TOP (1) either.ChangeVersion, either.DocumentId, either.TransactionId, either.CreatedAt
FROM (
    SELECT changed.ChangeVersion, changed.DocumentId, changed.TransactionId, changed.CreatedAt
    FROM (SELECT TOP (1) ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentChangeEvent
          WHERE ChangeVersion <= @version ORDER BY ChangeVersion DESC, DocumentId DESC) AS changed
    UNION ALL
    SELECT deleted.ChangeVersion, deleted.DocumentId, deleted.TransactionId, deleted.CreatedAt
    FROM (SELECT TOP (1) ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentDeleteEvent
          WHERE ChangeVersion <= @version ORDER BY ChangeVersion DESC) AS deleted
) AS either
ORDER BY either.ChangeVersion DESC, either.DocumentId DESC;
EXEC dms.newest_stamp @drawn OUTPUT;
SELECT event.ChangeVersion AS event_version, event.DocumentId AS document_id, event.TransactionId AS transaction_id,
       event.CreatedAt AS created_at, floors.floor, floors.event_floor, @drawn AS drawn
FROM (
    SELECT MAX(ChangeVersion) AS floor,
           MAX(CASE WHEN Journal IN (N'DocumentChangeEvent', N'DocumentDeleteEvent') THEN ChangeVersion END) AS event_floor
    FROM dms.JournalFloor
) AS floors
LEFT JOIN @event AS event ON 1 = 1;

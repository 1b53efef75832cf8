-- sql/sqlserver/queries/last_event.sql: the last event at or below a version, which tells one history from another (invariant 9).
-- Binds: version. Gives one row: event (its version first; empty: none is kept), event_version; drawn, the newest stamp that the sequence has
--   given. The same event that a consumer remembers: queries/consumers.sql.
-- Plan: the end of a range of the primary keys of two journals.
SET NOCOUNT ON;
DECLARE @version bigint = :version, @drawn bigint;
EXEC dms.newest_stamp @drawn OUTPUT;
SELECT CASE WHEN event.ChangeVersion IS NULL THEN N''
            ELSE CONCAT(event.ChangeVersion, N' ', event.DocumentId, N' ', event.TransactionId, N' ',
                        CONVERT(nvarchar(33), event.CreatedAt, 126)) END AS event,
       event.ChangeVersion AS event_version, sequence.drawn
FROM (SELECT @drawn AS drawn) AS sequence
OUTER APPLY (
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
    ORDER BY either.ChangeVersion DESC, either.DocumentId DESC
) AS event;

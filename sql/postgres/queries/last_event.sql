-- sql/postgres/queries/last_event.sql: the last event at or below a version, which tells one history from another (invariant 9).
-- Binds: version. Gives one row: event (its version first; empty: none is kept), event_version; drawn, the newest stamp that the sequence has
--   given. The same event that a consumer remembers: queries/consumers.sql.
-- Plan: the end of a range of the primary keys of two journals. The reader needs SELECT on the sequence.
SELECT concat_ws(' ', event.ChangeVersion, event.DocumentId, event.TransactionId,
                 to_char(event.CreatedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')) AS event,
       event.ChangeVersion AS event_version, sequence.drawn
FROM (SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS drawn FROM dms.ChangeVersionSequence) AS sequence
LEFT JOIN LATERAL (
    (SELECT ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentChangeEvent
     WHERE ChangeVersion <= CAST(:version AS bigint) ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1)
    UNION ALL
    (SELECT ChangeVersion, DocumentId, TransactionId, CreatedAt FROM dms.DocumentDeleteEvent
     WHERE ChangeVersion <= CAST(:version AS bigint) ORDER BY ChangeVersion DESC LIMIT 1)
    ORDER BY ChangeVersion DESC, DocumentId DESC
    LIMIT 1
) AS event ON true

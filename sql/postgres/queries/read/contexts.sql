-- sql/postgres/queries/read/contexts.sql: what caused each of these events, as the writer of its transaction says.
-- Binds: rows (JSON array of {change_version, document_id}; at most a horizon that was read before).
-- Gives: change_version, document_id, context. No row for an event that is not in the journals, or that nothing is said of.
-- The event's transaction id alone does not tell (ChangeContext.v1.sql): the context's range holds the event's stamp.
-- Plan: lookups by the primary keys, and the first of a range of PK_ChangeContext from its end on, for each event.
SELECT wanted.change_version, wanted.document_id, said.Context AS context
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (change_version bigint, document_id bigint)
CROSS JOIN LATERAL (
    (SELECT TransactionId FROM dms.DocumentChangeEvent
     WHERE ChangeVersion = wanted.change_version AND DocumentId = wanted.document_id OFFSET 0)
    UNION ALL
    (SELECT TransactionId FROM dms.DocumentDeleteEvent
     WHERE ChangeVersion = wanted.change_version AND DocumentId = wanted.document_id OFFSET 0)
) AS event
CROSS JOIN LATERAL (
    SELECT ThroughVersion, Context FROM dms.ChangeContext
    WHERE TransactionId = event.TransactionId AND AfterVersion < wanted.change_version
    ORDER BY TransactionId DESC, AfterVersion DESC LIMIT 1) AS said
WHERE said.ThroughVersion >= wanted.change_version AND said.Context <> '{}'
ORDER BY wanted.change_version, wanted.document_id

-- sql/sqlserver/queries/read/contexts.sql: what caused each of these events, as the writer of its transaction says.
-- Binds: rows (JSON array of {change_version, document_id}; at most a horizon that was read before).
-- Gives: change_version, document_id, context. No row for an event that is not in the journals, or that nothing is said of.
-- The event's transaction id alone does not tell (ChangeContext.v1.sql): the context's range holds the event's stamp.
-- Plan: lookups by the primary keys, and the first of a range of PK_ChangeContext from its end on, for each event.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
SELECT event.ChangeVersion AS change_version, event.DocumentId AS document_id, said.Context AS context
FROM (
    SELECT DISTINCT listed.change_version, listed.document_id
    FROM OPENJSON(@rows) WITH (change_version bigint '$.change_version', document_id bigint '$.document_id') AS listed
) AS wanted
CROSS APPLY (
    SELECT ChangeVersion, DocumentId, TransactionId FROM dms.DocumentChangeEvent
    WHERE ChangeVersion = wanted.change_version AND DocumentId = wanted.document_id
    UNION ALL
    SELECT ChangeVersion, DocumentId, TransactionId FROM dms.DocumentDeleteEvent
    WHERE ChangeVersion = wanted.change_version AND DocumentId = wanted.document_id
) AS event
CROSS APPLY (
    SELECT TOP (1) ThroughVersion, Context FROM dms.ChangeContext
    WHERE TransactionId = event.TransactionId AND AfterVersion < event.ChangeVersion
    ORDER BY AfterVersion DESC
) AS said
WHERE said.ThroughVersion >= event.ChangeVersion AND said.Context <> N'{}'
ORDER BY event.ChangeVersion, event.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);

-- sql/postgres/queries/feed/effects_caused.sql: option context: the documents that a transaction says it changed because of these events.
-- Binds: rows (JSON array of {change_version, document_id, document_uuid, transaction_id}; at most a horizon that was read before); most
--   (documents an event, 1 or more).
-- Gives: change_version, document_id of the event; affected_id, affected_version, its own last event for that cause; is_delete;
--   document_uuid, resource_key_id; old_key_values, new_key_values of its last event, null where that changed no key; reason (null: none was
--   said); total, how many there are of it. In the order of their versions.
-- The cause that a context names is the event's document, by its uuid, in the event's transaction (dmsjournal/write/transaction.py).
-- Plan: each transaction's contexts once, a range of PK_ChangeContext; for each that names a cause, the ranges of both journals that it holds
--   for: the stamps that anybody drew meanwhile.
WITH wanted AS MATERIALIZED (
    SELECT change_version, document_id, document_uuid, transaction_id
    FROM jsonb_to_recordset(CAST(:rows AS jsonb))
        AS listed (change_version bigint, document_id bigint, document_uuid text, transaction_id bigint)
),
cause AS MATERIALIZED (
    SELECT said.TransactionId, said.AfterVersion, said.ThroughVersion, lower(said.Context -> 'cause' ->> 'document_uuid') AS document_uuid,
           said.Context -> 'cause' ->> 'reason' AS reason
    FROM (SELECT DISTINCT transaction_id FROM wanted) AS transaction
    CROSS JOIN LATERAL (
        SELECT TransactionId, AfterVersion, ThroughVersion, Context FROM dms.ChangeContext
        WHERE TransactionId = transaction.transaction_id OFFSET 0) AS said
    WHERE said.ThroughVersion > said.AfterVersion
),
touched AS (
    SELECT wanted.change_version, wanted.document_id, event.DocumentId, max(event.ChangeVersion) AS version,
           bool_or(event.is_delete) AS is_delete, max(cause.reason) AS reason
    FROM wanted
    JOIN cause ON cause.TransactionId = wanted.transaction_id AND cause.document_uuid = wanted.document_uuid
    CROSS JOIN LATERAL (
        (SELECT ChangeVersion, DocumentId, false AS is_delete FROM dms.DocumentChangeEvent
         WHERE ChangeVersion > cause.AfterVersion AND ChangeVersion <= cause.ThroughVersion AND TransactionId = cause.TransactionId
           AND Operation = 'update' OFFSET 0)
        UNION ALL
        (SELECT ChangeVersion, DocumentId, true FROM dms.DocumentDeleteEvent
         WHERE ChangeVersion > cause.AfterVersion AND ChangeVersion <= cause.ThroughVersion AND TransactionId = cause.TransactionId OFFSET 0)
    ) AS event
    WHERE event.DocumentId <> wanted.document_id
    GROUP BY wanted.change_version, wanted.document_id, event.DocumentId
),
placed AS (
    SELECT *, row_number() OVER (PARTITION BY change_version, document_id ORDER BY version) AS place,
           count(*) OVER (PARTITION BY change_version, document_id) AS total
    FROM touched
)
SELECT placed.change_version, placed.document_id, placed.DocumentId AS affected_id, placed.version AS affected_version, placed.is_delete,
       coalesce(tombstone.DocumentUuid, document.DocumentUuid) AS document_uuid,
       coalesce(tombstone.ResourceKeyId, document.ResourceKeyId) AS resource_key_id, rekeyed.OldKeyValues AS old_key_values,
       rekeyed.NewKeyValues AS new_key_values, placed.reason, placed.total
FROM placed
LEFT JOIN LATERAL (  -- the end of the lifetime that the change belongs to
    SELECT DocumentUuid, ResourceKeyId FROM dms.DocumentDeleteEvent
    WHERE DocumentId = placed.DocumentId AND ChangeVersion >= placed.version
    ORDER BY DocumentId, ChangeVersion LIMIT 1
) AS tombstone ON true
LEFT JOIN LATERAL (
    SELECT DocumentUuid, ResourceKeyId FROM dms.Document WHERE DocumentId = placed.DocumentId OFFSET 0
) AS document ON tombstone.DocumentUuid IS NULL
LEFT JOIN LATERAL (
    SELECT OldKeyValues, NewKeyValues FROM dms.KeyChangeEvent
    WHERE ChangeVersion = placed.version AND DocumentId = placed.DocumentId OFFSET 0
) AS rekeyed ON NOT placed.is_delete
WHERE placed.place <= CAST(:most AS bigint)
ORDER BY placed.change_version, placed.document_id, placed.version

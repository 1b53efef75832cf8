-- sql/postgres/queries/events/journal_rows.sql: the next events of all resources after a position, tombstones among them, in
-- (ChangeVersion, DocumentId) order; one row at least, for the floor, which is the higher one of the two journals.
-- Binds: after_version, after_id (exclusive); max_version (inclusive, at most a horizon read before); page_size (rows, 1 or more).
-- Plan: one range of each journal's primary key, merged; it reads a page of each at most.
SELECT floors.floor, event.ChangeVersion AS change_version, event.DocumentId AS document_id, event.ResourceKeyId AS resource_key_id,
       event.Operation AS operation, event.TransactionId AS transaction_id, event.CreatedAt AS created_at,
       CAST(event.DocumentUuid AS text) AS document_uuid, event.KeyValues AS key_values
FROM (
    SELECT max(ChangeVersion) AS floor FROM dms.JournalFloor WHERE Journal IN ('DocumentChangeEvent', 'DocumentDeleteEvent')
) AS floors
LEFT JOIN LATERAL (
    SELECT * FROM (
        (SELECT ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt,
                CAST(NULL AS uuid) AS DocumentUuid, CAST(NULL AS jsonb) AS KeyValues
         FROM dms.DocumentChangeEvent
         WHERE (ChangeVersion, DocumentId) > (CAST(:after_version AS bigint), CAST(:after_id AS bigint))
           AND ChangeVersion <= CAST(:max_version AS bigint)
         ORDER BY ChangeVersion, DocumentId
         LIMIT CAST(:page_size AS bigint))
        UNION ALL
        (SELECT ChangeVersion, DocumentId, ResourceKeyId, CAST('delete' AS varchar(6)), TransactionId, CreatedAt, DocumentUuid, KeyValues
         FROM dms.DocumentDeleteEvent
         WHERE ChangeVersion >= CAST(:after_version AS bigint) AND ChangeVersion <= CAST(:max_version AS bigint)
           AND (ChangeVersion > CAST(:after_version AS bigint) OR DocumentId > CAST(:after_id AS bigint))
         ORDER BY ChangeVersion
         LIMIT CAST(:page_size AS bigint))
    ) AS events
    ORDER BY ChangeVersion, DocumentId
    LIMIT CAST(:page_size AS bigint)
) AS event ON true
ORDER BY event.ChangeVersion, event.DocumentId

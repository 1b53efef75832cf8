-- sql/postgres/queries/operate/bury_documents.sql: tombstones for documents that vanished, from what their last key change tells. Runs after
-- enter_change. Binds: rows (JSON array of {document_id}).
INSERT INTO dms.DocumentDeleteEvent (ChangeVersion, DocumentId, DocumentUuid, ResourceKeyId, KeyValues, TransactionId, CreatedAt)
SELECT nextval('dms.ChangeVersionSequence'), wanted.document_id, k.DocumentUuid, k.ResourceKeyId, k.NewKeyValues,
       CAST(CAST(pg_current_xact_id() AS text) AS bigint), clock_timestamp()
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (document_id bigint)
CROSS JOIN LATERAL (
    SELECT DocumentUuid, ResourceKeyId, NewKeyValues FROM dms.KeyChangeEvent WHERE DocumentId = wanted.document_id
    ORDER BY DocumentId, ChangeVersion DESC LIMIT 1) AS k
WHERE NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = wanted.document_id)

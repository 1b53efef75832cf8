-- sql/postgres/queries/spark/sources/deletes.sql: what a Spark job reads tombstones from.
-- Binds: none. Spark puts it in a FROM, and bounds it by change_version and resource_key_id.
SELECT ResourceKeyId AS resource_key_id, ChangeVersion AS change_version, DocumentId AS document_id,
       CAST(DocumentUuid AS text) AS document_uuid, CAST(KeyValues AS text) AS key_values, CreatedAt AS committed_at
FROM dms.DocumentDeleteEvent

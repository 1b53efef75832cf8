-- sql/sqlserver/queries/spark/sources/deletes.sql: what a Spark job reads tombstones from.
-- Binds: none. Spark puts it in a FROM, and bounds it by change_version and resource_key_id.
SELECT ResourceKeyId AS resource_key_id, ChangeVersion AS change_version, DocumentId AS document_id,
       LOWER(CAST(DocumentUuid AS varchar(36))) AS document_uuid, KeyValues AS key_values, TODATETIMEOFFSET(CreatedAt, 0) AS committed_at
FROM dms.DocumentDeleteEvent

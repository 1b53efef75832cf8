-- sql/sqlserver/queries/spark/sources/deletes.sql: what a Spark job reads tombstones from.
-- Binds: none. Spark puts it in a FROM, and bounds it by change_version and resource_key_id.
-- Plan: ranges of the journal. A join whose columns are not asked for is left out.
SELECT event.ResourceKeyId AS resource_key_id, resource.ProjectName + N'/' + resource.ResourceName + N'/' + resource.ResourceVersion AS resource,
       event.ChangeVersion AS change_version, event.DocumentId AS document_id,
       LOWER(CAST(event.DocumentUuid AS varchar(36))) AS document_uuid, event.KeyValues AS key_values, TODATETIMEOFFSET(event.CreatedAt, 0) AS committed_at
FROM dms.DocumentDeleteEvent AS event
LEFT JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = event.ResourceKeyId

-- sql/postgres/queries/spark/sources/deletes.sql: what a Spark job reads tombstones from.
-- Binds: none. Spark puts it in a FROM, and bounds it by change_version and resource_key_id.
-- Plan: ranges of the journal. A join whose columns are not asked for is left out.
SELECT event.ResourceKeyId AS resource_key_id, resource.ProjectName || '/' || resource.ResourceName || '/' || resource.ResourceVersion AS resource,
       event.ChangeVersion AS change_version, event.DocumentId AS document_id,
       CAST(event.DocumentUuid AS text) AS document_uuid, CAST(event.KeyValues AS text) AS key_values, event.CreatedAt AS committed_at
FROM dms.DocumentDeleteEvent AS event
LEFT JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = event.ResourceKeyId

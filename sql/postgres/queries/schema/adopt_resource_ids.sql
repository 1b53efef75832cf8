-- sql/postgres/queries/schema/adopt_resource_ids.sql: ResourceKeyId from the names, for a batch of documents. Binds: after_id, through_id.
UPDATE dms.Document AS d SET ResourceKeyId = k.ResourceKeyId
FROM dms.ResourceKey AS k
WHERE d.DocumentId > CAST(:after_id AS bigint) AND d.DocumentId <= CAST(:through_id AS bigint) AND d.ResourceKeyId IS NULL
  AND k.ProjectName = d.ProjectName AND k.ResourceName = d.ResourceName AND k.ResourceVersion = d.ResourceVersion

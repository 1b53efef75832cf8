-- sql/sqlserver/queries/schema/adopt_resource_ids.sql: ResourceKeyId from the names, for a batch of documents. Binds: after_id, through_id.
UPDATE d SET ResourceKeyId = k.ResourceKeyId
FROM dms.Document AS d
INNER JOIN dms.ResourceKey AS k
    ON k.ProjectName = d.ProjectName COLLATE Latin1_General_100_BIN2 AND k.ResourceName = d.ResourceName COLLATE Latin1_General_100_BIN2
   AND k.ResourceVersion = d.ResourceVersion COLLATE Latin1_General_100_BIN2
WHERE d.DocumentId > :after_id AND d.DocumentId <= :through_id AND d.ResourceKeyId IS NULL;

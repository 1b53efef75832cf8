-- sql/postgres/queries/schema/adopt_resource_names.sql: the resources of a batch of documents, where they are new. Binds: after_id, through_id.
-- Looks before it inserts: a conflict would use up one of the 32,767 ids.
INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion)
SELECT DISTINCT d.ProjectName, d.ResourceName, d.ResourceVersion
FROM dms.Document AS d
WHERE d.DocumentId > CAST(:after_id AS bigint) AND d.DocumentId <= CAST(:through_id AS bigint) AND d.ResourceKeyId IS NULL
  AND NOT EXISTS (
    SELECT FROM dms.ResourceKey AS known
    WHERE known.ProjectName = d.ProjectName AND known.ResourceName = d.ResourceName AND known.ResourceVersion = d.ResourceVersion)
ORDER BY d.ProjectName, d.ResourceName, d.ResourceVersion
ON CONFLICT DO NOTHING

-- sql/postgres/queries/demo/written.sql: how many rows of a tracked table have been written themselves since a version.
-- Binds: resource_name; min_version.
SELECT count(*) FROM dms.Document AS d JOIN dms.ResourceKey AS r ON r.ResourceKeyId = d.ResourceKeyId
WHERE r.ProjectName = 'Shop' AND r.ResourceName = :resource_name AND d.ContentVersion >= CAST(:min_version AS bigint)

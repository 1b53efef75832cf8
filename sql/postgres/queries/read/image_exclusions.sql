-- sql/postgres/queries/read/image_exclusions.sql: the resources of which no images are kept, each since a version; by resource.
SELECT exclusion.ResourceKeyId AS resource_key_id, exclusion.ChangeVersion AS change_version,
       resource.ProjectName AS project_name, resource.ResourceName AS resource_name, resource.ResourceVersion AS resource_version
FROM dms.ImageExclusion AS exclusion INNER JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = exclusion.ResourceKeyId
ORDER BY exclusion.ResourceKeyId

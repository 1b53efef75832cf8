-- sql/postgres/queries/database/resource_keys.sql: the resources and their ids.
SELECT ResourceKeyId AS resource_key_id, ProjectName AS project_name, ResourceName AS resource_name, ResourceVersion AS resource_version
FROM dms.ResourceKey
ORDER BY ProjectName, ResourceName, ResourceVersion

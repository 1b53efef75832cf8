-- sql/sqlserver/queries/write/tracked_resources.sql: the resources that are tables of others, which alone write them. Gives: project_name, resource_name,
-- resource_version, table_name.
SELECT r.ProjectName AS project_name, r.ResourceName AS resource_name, r.ResourceVersion AS resource_version, t.TableName AS table_name
FROM dms.TrackedTable AS t INNER JOIN dms.ResourceKey AS r ON r.ResourceKeyId = t.ResourceKeyId;

-- sql/postgres/queries/database/add_resource_keys.sql: adds the resources that are not there. Binds: rows (JSON array of the three names).
-- Looks before it inserts: a conflict would use up one of the 32,767 ids.
INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion)
SELECT wanted.project_name, wanted.resource_name, wanted.resource_version
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (project_name varchar, resource_name varchar, resource_version varchar)
WHERE NOT EXISTS (
    SELECT FROM dms.ResourceKey AS known
    WHERE known.ProjectName = wanted.project_name AND known.ResourceName = wanted.resource_name
      AND known.ResourceVersion = wanted.resource_version)
ORDER BY wanted.project_name, wanted.resource_name, wanted.resource_version
ON CONFLICT DO NOTHING

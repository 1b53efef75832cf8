-- sql/sqlserver/queries/database/add_resource_keys.sql: adds the resources that are not there. Binds: rows (JSON array of the three names).
-- The lock keeps another session from adding the same ones in between; whoever only reads goes on.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows;
INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion)
SELECT wanted.project_name, wanted.resource_name, wanted.resource_version
FROM OPENJSON(@rows) WITH (
    project_name     nvarchar(256) '$.project_name',
    resource_name    nvarchar(256) '$.resource_name',
    resource_version nvarchar(64)  '$.resource_version'
) AS wanted
WHERE NOT EXISTS (
    SELECT * FROM dms.ResourceKey AS known WITH (UPDLOCK, HOLDLOCK)
    WHERE known.ProjectName = wanted.project_name COLLATE Latin1_General_100_BIN2
      AND known.ResourceName = wanted.resource_name COLLATE Latin1_General_100_BIN2
      AND known.ResourceVersion = wanted.resource_version COLLATE Latin1_General_100_BIN2)
ORDER BY wanted.project_name, wanted.resource_name, wanted.resource_version;

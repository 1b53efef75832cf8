-- sql/sqlserver/queries/schema/adopt_resource_names.sql: the resources of a batch of documents, where they are new. Binds: after_id, through_id.
-- The lock keeps a writer from adding the same ones in between; whoever only reads goes on.
INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion)
SELECT wanted.project, wanted.name, wanted.version
FROM (
    SELECT DISTINCT ProjectName COLLATE Latin1_General_100_BIN2 AS project, ResourceName COLLATE Latin1_General_100_BIN2 AS name,
           ResourceVersion COLLATE Latin1_General_100_BIN2 AS version
    FROM dms.Document
    WHERE DocumentId > :after_id AND DocumentId <= :through_id AND ResourceKeyId IS NULL
) AS wanted
WHERE NOT EXISTS (
    SELECT * FROM dms.ResourceKey AS known WITH (UPDLOCK, HOLDLOCK)
    WHERE known.ProjectName = wanted.project AND known.ResourceName = wanted.name AND known.ResourceVersion = wanted.version)
ORDER BY wanted.project, wanted.name, wanted.version;

-- sql/sqlserver/queries/read/plan_version.sql: marks among the documents that dms.ResourceChange looks at at one version, by DocumentId.
-- Binds: resource_key_ids (JSON array, each once); version; step (1 or more). Gives: each step-th document, and the last: (number, document_id),
--   the number from 1. None where there are none.
-- Plan: a range of one version in a journal and of one child in IX_ReferenceEdge_Child: it reads the documents of that version, once.
SET NOCOUNT ON;
DECLARE @resource_key_ids nvarchar(max) = :resource_key_ids, @version bigint = :version, @step bigint = :step;
DECLARE @wanted TABLE (ResourceKeyId smallint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (ResourceKeyId) SELECT DISTINCT CAST(value AS smallint) FROM OPENJSON(@resource_key_ids);
SELECT numbered.number, numbered.DocumentId AS document_id
FROM (
    SELECT either.DocumentId, ROW_NUMBER() OVER (ORDER BY either.DocumentId) AS number, LEAD(either.DocumentId) OVER (ORDER BY either.DocumentId) AS following
    FROM (
        SELECT own.DocumentId
        FROM dms.DocumentChangeEvent AS own
        WHERE own.ChangeVersion = @version AND own.ResourceKeyId IN (SELECT ResourceKeyId FROM @wanted)
        UNION ALL
        SELECT edge.ParentDocumentId
        FROM dms.IdentityChangeEvent AS event
        INNER JOIN dms.Document AS child ON child.DocumentId = event.DocumentId AND child.IdentityVersion = event.ChangeVersion
        INNER JOIN dms.ReferenceEdge AS edge ON edge.ChildDocumentId = event.DocumentId
        WHERE event.ChangeVersion = @version AND edge.ParentResourceKeyId IN (SELECT ResourceKeyId FROM @wanted)
    ) AS either
) AS numbered
WHERE numbered.number % @step = 0 OR numbered.following IS NULL
ORDER BY numbered.number;

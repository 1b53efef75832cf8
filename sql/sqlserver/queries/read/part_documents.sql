-- sql/sqlserver/queries/read/part_documents.sql: the live documents in a range of ids, each at its derived version as of now, in no order.
-- Binds: resource_key_ids (JSON array, each once); from_id, through_id (inclusive); last_version (inclusive, at most a horizon read before: a document
--   above it has changed since, and is in the changes that follow); with_keys, with_bodies (1 or 0: what is not wanted is null).
-- Gives: what part_changes.sql gives; committed_at is when the stamp that is the version was given.
-- Plan: a range of the documents, and lookups of each one's children by key.
SET NOCOUNT ON;
DECLARE @resource_key_ids nvarchar(max) = :resource_key_ids, @from_id bigint = :from_id, @through_id bigint = :through_id,
        @last_version bigint = :last_version, @with_keys bit = :with_keys, @with_bodies bit = :with_bodies;
DECLARE @wanted TABLE (ResourceKeyId smallint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (ResourceKeyId) SELECT DISTINCT CAST(value AS smallint) FROM OPENJSON(@resource_key_ids);
SELECT CONCAT(resource.ProjectName, N'/', resource.ResourceName, N'/', resource.ResourceVersion) AS resource,
       live.ChangeVersion AS change_version, live.CommittedAt AS committed_at,
       live.DocumentId AS document_id, LOWER(CONVERT(nvarchar(36), live.DocumentUuid)) AS uuid,
       CAST(CASE WHEN @with_keys = 1 THEN live.KeyValues END AS nvarchar(max)) AS keys, CAST(NULL AS nvarchar(max)) AS old_keys,
       CAST(CASE WHEN @with_bodies = 1 THEN cache.DocumentJson END AS nvarchar(max)) AS body_text
FROM (
    SELECT document.DocumentId, document.DocumentUuid, document.ResourceKeyId, document.KeyValues,
           CASE WHEN newest.IdentityVersion > document.ContentVersion AND newest.IdentityVersion > document.IdentityVersion
                THEN newest.IdentityVersion
                WHEN document.ContentVersion > document.IdentityVersion THEN document.ContentVersion
                ELSE document.IdentityVersion END AS ChangeVersion,
           CASE WHEN newest.IdentityVersion > document.ContentVersion AND newest.IdentityVersion > document.IdentityVersion
                THEN newest.IdentityLastModifiedAt
                WHEN document.ContentVersion >= document.IdentityVersion THEN document.ContentLastModifiedAt
                ELSE document.IdentityLastModifiedAt END AS CommittedAt
    FROM dms.Document AS document
    OUTER APPLY (
        SELECT TOP (1) child.IdentityVersion, child.IdentityLastModifiedAt
        FROM dms.ReferenceEdge AS edge INNER JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
        WHERE edge.ParentDocumentId = document.DocumentId
        ORDER BY child.IdentityVersion DESC
    ) AS newest
    WHERE document.ResourceKeyId IN (SELECT ResourceKeyId FROM @wanted) AND document.DocumentId BETWEEN @from_id AND @through_id
) AS live
INNER JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = live.ResourceKeyId
LEFT JOIN dms.DocumentCache AS cache ON @with_bodies = 1 AND cache.DocumentId = live.DocumentId
WHERE live.ChangeVersion <= @last_version
OPTION (RECOMPILE);  -- as its bounds are, from a few ids to all of them

-- sql/sqlserver/queries/read/part_changes.sql: the documents in a part of a plan, each at its derived version, in no order.
-- Binds: resource_key_ids (JSON array, each once); first_version, last_version (inclusive, at most a horizon read before); from_id, through_id
--   (inclusive: at first_version only documents from from_id on, at last_version only those up to through_id); with_keys, with_bodies (1 or 0: what is
--   not wanted is null).
-- Gives: resource, change_version, committed_at, document_id, uuid, keys, old_keys, body_text; JSON as text, in columns that are not named as
--   those that dmsjournal/database/columns.py decodes, CAST so that a driver is told their type whatever the CASE. The three part_ queries give the same.
-- Plan: dms.ResourceChange's, over the part's range of both journals. The range of ids says again, where the part lies in one version, what
--   the two lines before it say, in a form that an index takes.
SET NOCOUNT ON;
DECLARE @resource_key_ids nvarchar(max) = :resource_key_ids, @first_version bigint = :first_version,
        @last_version bigint = :last_version, @from_id bigint = :from_id, @through_id bigint = :through_id,
        @with_keys bit = :with_keys, @with_bodies bit = :with_bodies;
DECLARE @wanted TABLE (ResourceKeyId smallint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (ResourceKeyId) SELECT DISTINCT CAST(value AS smallint) FROM OPENJSON(@resource_key_ids);
SELECT CONCAT(resource.ProjectName, N'/', resource.ResourceName, N'/', resource.ResourceVersion) AS resource,
       change.ChangeVersion AS change_version, change.CommittedAt AS committed_at,
       change.DocumentId AS document_id, LOWER(CONVERT(nvarchar(36), change.DocumentUuid)) AS uuid,
       CAST(CASE WHEN @with_keys = 1 THEN change.KeyValues END AS nvarchar(max)) AS keys, CAST(NULL AS nvarchar(max)) AS old_keys,
       CAST(CASE WHEN @with_bodies = 1 THEN cache.DocumentJson END AS nvarchar(max)) AS body_text
FROM dms.ResourceChange AS change
INNER JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = change.ResourceKeyId
LEFT JOIN dms.DocumentCache AS cache ON @with_bodies = 1 AND cache.DocumentId = change.DocumentId
WHERE change.ResourceKeyId IN (SELECT ResourceKeyId FROM @wanted)
  AND change.ChangeVersion BETWEEN @first_version AND @last_version
  AND (change.ChangeVersion > @first_version OR change.DocumentId >= @from_id)
  AND (change.ChangeVersion < @last_version OR change.DocumentId <= @through_id)
  AND change.DocumentId BETWEEN
      CASE WHEN @first_version = @last_version THEN @from_id ELSE CAST(-9223372036854775808 AS bigint) END
      AND CASE WHEN @first_version = @last_version THEN @through_id ELSE CAST(9223372036854775807 AS bigint) END
OPTION (RECOMPILE);  -- as its bounds are, from one version to all of them

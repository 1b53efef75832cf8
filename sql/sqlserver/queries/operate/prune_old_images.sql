-- sql/sqlserver/queries/operate/prune_old_images.sql: deletes the next images after a position, oldest first, whether their events stay or not, and
-- raises the version above which images are whole.
-- Binds: after_version, after_id (exclusive); through (inclusive, at most a horizon); batch_size. Gives as prune_document_changes.sql.
-- An event above the new version needs no image at or below it: docs/how-it-works.md, Images. Plan: as prune_images.sql.
SET NOCOUNT ON;
DECLARE @after_version bigint = :after_version, @after_id bigint = :after_id, @through bigint = :through, @batch_size bigint = :batch_size;
DECLARE @scanned bigint, @deleted bigint, @last_version bigint, @last_id bigint, @reached bigint = @through;
DECLARE @batch TABLE (ChangeVersion bigint NOT NULL, DocumentId bigint NOT NULL, PRIMARY KEY (ChangeVersion, DocumentId));
INSERT INTO @batch (ChangeVersion, DocumentId)
SELECT TOP (@batch_size) ChangeVersion, DocumentId
FROM dms.DocumentImage WITH (INDEX (PK_DocumentImage), FORCESEEK)
WHERE ChangeVersion >= @after_version AND (ChangeVersion > @after_version OR DocumentId > @after_id)
  AND ChangeVersion <= @through
ORDER BY ChangeVersion, DocumentId;
SET @scanned = @@ROWCOUNT;
SELECT TOP (1) @last_version = ChangeVersion, @last_id = DocumentId FROM @batch ORDER BY ChangeVersion DESC, DocumentId DESC;
IF @scanned = @batch_size
    SET @reached = @last_version;
DELETE image
FROM @batch AS batch INNER JOIN dms.DocumentImage AS image WITH (ROWLOCK) ON image.ChangeVersion = batch.ChangeVersion AND image.DocumentId = batch.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);
SET @deleted = @@ROWCOUNT;
UPDATE dms.DocumentImageFloor SET ChangeVersion = @reached WHERE ChangeVersion < @reached;  -- never lowered
SELECT @scanned AS scanned, @deleted AS deleted, @last_version AS last_version, @last_id AS last_id, MAX(ChangeVersion) AS floor
FROM dms.DocumentImageFloor;

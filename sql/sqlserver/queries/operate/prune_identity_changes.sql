-- sql/sqlserver/queries/operate/prune_identity_changes.sql: deletes the next identity events after a position, oldest first, and raises their floor.
-- Binds: after_version, after_id (exclusive); through (inclusive); batch_size. As prune_document_changes.sql tells.
SET NOCOUNT ON;
DECLARE @after_version bigint = :after_version, @after_id bigint = :after_id, @through bigint = :through, @batch_size bigint = :batch_size;
DECLARE @scanned bigint, @deleted bigint, @last_version bigint, @last_id bigint, @reached bigint = @through;
DECLARE @batch TABLE (ChangeVersion bigint NOT NULL, DocumentId bigint NOT NULL, PRIMARY KEY (ChangeVersion, DocumentId));

INSERT INTO @batch (ChangeVersion, DocumentId)
SELECT TOP (@batch_size) ChangeVersion, DocumentId
FROM dms.IdentityChangeEvent WITH (INDEX (PK_IdentityChangeEvent), FORCESEEK)
WHERE ChangeVersion >= @after_version AND (ChangeVersion > @after_version OR DocumentId > @after_id)
  AND ChangeVersion <= @through
ORDER BY ChangeVersion, DocumentId;
SET @scanned = @@ROWCOUNT;
SELECT TOP (1) @last_version = ChangeVersion, @last_id = DocumentId FROM @batch ORDER BY ChangeVersion DESC, DocumentId DESC;
IF @scanned = @batch_size
    SET @reached = @last_version;

DELETE event
FROM @batch AS batch INNER JOIN dms.IdentityChangeEvent AS event WITH (ROWLOCK) ON event.ChangeVersion = batch.ChangeVersion AND event.DocumentId = batch.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);
SET @deleted = @@ROWCOUNT;
UPDATE dms.JournalFloor SET ChangeVersion = @reached, PrunedAt = SYSUTCDATETIME()
WHERE Journal = N'IdentityChangeEvent' AND ChangeVersion < @reached;  -- never lowered
SELECT @scanned AS scanned, @deleted AS deleted, @last_version AS last_version, @last_id AS last_id, ChangeVersion AS floor
FROM dms.JournalFloor
WHERE Journal = N'IdentityChangeEvent';

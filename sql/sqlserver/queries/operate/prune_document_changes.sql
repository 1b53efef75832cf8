-- sql/sqlserver/queries/operate/prune_document_changes.sql: deletes the next document events after a position, oldest first, and raises their floor.
-- Binds: after_version, after_id (exclusive: where the batch before ended); through (inclusive, at most a horizon read before);
--   batch_size (rows, 1 to 2,000: a statement of 5,000 locks on one index would lock the table).
-- Gives: one row. scanned: rows that were there to delete, fewer than batch_size where none are left up to `through`; deleted;
--   (last_version, last_id), the last one's position, null where there was none; floor, after it.
-- Run it in a transaction. The rows go first, the floor rises second, and readers look in the same order: at the rows, then at the
--   floor. So whoever sees a row gone sees a floor at or above it (invariant 8), in any isolation level, and no two of them wait for
--   each other. A batch counts rows, whatever versions they have: the floor is at the last one's, also where the next batch begins in the
--   same version.
-- Plan: one range of the primary key from the position on, so that no ghost of what was deleted before is looked at again; then each row by
--   its key.
SET NOCOUNT ON;
DECLARE @after_version bigint = :after_version, @after_id bigint = :after_id, @through bigint = :through, @batch_size bigint = :batch_size;
DECLARE @scanned bigint, @deleted bigint, @last_version bigint, @last_id bigint, @reached bigint = @through;
DECLARE @batch TABLE (ChangeVersion bigint NOT NULL, DocumentId bigint NOT NULL, PRIMARY KEY (ChangeVersion, DocumentId));

INSERT INTO @batch (ChangeVersion, DocumentId)
SELECT TOP (@batch_size) ChangeVersion, DocumentId
FROM dms.DocumentChangeEvent WITH (INDEX (PK_DocumentChangeEvent), FORCESEEK)
WHERE ChangeVersion >= @after_version AND (ChangeVersion > @after_version OR DocumentId > @after_id)
  AND ChangeVersion <= @through
ORDER BY ChangeVersion, DocumentId;
SET @scanned = @@ROWCOUNT;
SELECT TOP (1) @last_version = ChangeVersion, @last_id = DocumentId FROM @batch ORDER BY ChangeVersion DESC, DocumentId DESC;
IF @scanned = @batch_size
    SET @reached = @last_version;

DELETE event
FROM @batch AS batch INNER JOIN dms.DocumentChangeEvent AS event WITH (ROWLOCK) ON event.ChangeVersion = batch.ChangeVersion AND event.DocumentId = batch.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);
SET @deleted = @@ROWCOUNT;
UPDATE dms.JournalFloor SET ChangeVersion = @reached, PrunedAt = SYSUTCDATETIME()
WHERE Journal = N'DocumentChangeEvent' AND ChangeVersion < @reached;  -- never lowered
SELECT @scanned AS scanned, @deleted AS deleted, @last_version AS last_version, @last_id AS last_id, ChangeVersion AS floor
FROM dms.JournalFloor
WHERE Journal = N'DocumentChangeEvent';

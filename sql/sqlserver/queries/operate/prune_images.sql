-- sql/sqlserver/queries/operate/prune_images.sql: deletes the next images after a position whose events have been pruned, oldest first: those at or
-- below the floor of their event's journal.
-- Binds: after_version, after_id (exclusive); batch_size (rows, 1 to 2,000: a statement of 5,000 locks on one index would lock the table).
-- Gives: one row. scanned: rows that were looked at, fewer than batch_size where none are left below the floors; deleted; last_version,
--   last_id. Plan: one range of the primary key from the position on, then each row by its key.
SET NOCOUNT ON;
DECLARE @after_version bigint = :after_version, @after_id bigint = :after_id, @batch_size bigint = :batch_size;
DECLARE @scanned bigint, @deleted bigint, @last_version bigint, @last_id bigint, @changes bigint, @tombstones bigint;
DECLARE @batch TABLE (ChangeVersion bigint NOT NULL, DocumentId bigint NOT NULL, IsDelete bit NOT NULL, PRIMARY KEY (ChangeVersion, DocumentId));
SELECT @changes = ChangeVersion FROM dms.JournalFloor WHERE Journal = N'DocumentChangeEvent';
SELECT @tombstones = ChangeVersion FROM dms.JournalFloor WHERE Journal = N'DocumentDeleteEvent';
INSERT INTO @batch (ChangeVersion, DocumentId, IsDelete)
SELECT TOP (@batch_size) ChangeVersion, DocumentId, IsDelete
FROM dms.DocumentImage WITH (INDEX (PK_DocumentImage), FORCESEEK)
WHERE ChangeVersion >= @after_version AND (ChangeVersion > @after_version OR DocumentId > @after_id)
  AND ChangeVersion <= CASE WHEN @changes > @tombstones THEN @changes ELSE @tombstones END
ORDER BY ChangeVersion, DocumentId;
SET @scanned = @@ROWCOUNT;
SELECT TOP (1) @last_version = ChangeVersion, @last_id = DocumentId FROM @batch ORDER BY ChangeVersion DESC, DocumentId DESC;
DELETE image
FROM @batch AS batch INNER JOIN dms.DocumentImage AS image WITH (ROWLOCK) ON image.ChangeVersion = batch.ChangeVersion AND image.DocumentId = batch.DocumentId
WHERE batch.ChangeVersion <= CASE WHEN batch.IsDelete = 1 THEN @tombstones ELSE @changes END
OPTION (LOOP JOIN, FORCE ORDER);
SET @deleted = @@ROWCOUNT;
SELECT @scanned AS scanned, @deleted AS deleted, @last_version AS last_version, @last_id AS last_id;

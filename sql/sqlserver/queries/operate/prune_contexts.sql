-- sql/sqlserver/queries/operate/prune_contexts.sql: deletes the next contexts after a position whose events have all been pruned, oldest first.
-- Binds: after_version, after_id (ThroughVersion and TransactionId, exclusive); batch_size (rows, 1 to 2,000).
-- Gives: as prune_images.sql; last_version and last_id are the last one's ThroughVersion and TransactionId.
-- Plan: one range of IX_ChangeContext_ThroughVersion, from the position's version on.
SET NOCOUNT ON;
DECLARE @after_version bigint = :after_version, @after_id bigint = :after_id, @batch_size bigint = :batch_size;
DECLARE @scanned bigint, @deleted bigint, @last_version bigint, @last_id bigint, @floor bigint;
DECLARE @batch TABLE (TransactionId bigint NOT NULL, AfterVersion bigint NOT NULL, ThroughVersion bigint NOT NULL, PRIMARY KEY (TransactionId, AfterVersion));
SELECT @floor = MIN(ChangeVersion) FROM dms.JournalFloor WHERE Journal IN (N'DocumentChangeEvent', N'DocumentDeleteEvent');
INSERT INTO @batch (TransactionId, AfterVersion, ThroughVersion)
SELECT TOP (@batch_size) TransactionId, AfterVersion, ThroughVersion
FROM dms.ChangeContext WITH (INDEX (IX_ChangeContext_ThroughVersion), FORCESEEK)
WHERE ThroughVersion >= @after_version AND (ThroughVersion > @after_version OR TransactionId > @after_id) AND ThroughVersion <= @floor
ORDER BY ThroughVersion, TransactionId;
SET @scanned = @@ROWCOUNT;
SELECT TOP (1) @last_version = ThroughVersion, @last_id = TransactionId FROM @batch ORDER BY ThroughVersion DESC, TransactionId DESC;
DELETE said
FROM @batch AS batch INNER JOIN dms.ChangeContext AS said WITH (ROWLOCK) ON said.TransactionId = batch.TransactionId AND said.AfterVersion = batch.AfterVersion
OPTION (LOOP JOIN, FORCE ORDER);
SET @deleted = @@ROWCOUNT;
SELECT @scanned AS scanned, @deleted AS deleted, @last_version AS last_version, @last_id AS last_id;

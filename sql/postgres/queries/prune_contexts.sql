-- sql/postgres/queries/prune_contexts.sql: deletes the next contexts after a position whose events have all been pruned, oldest first.
-- Binds: after_version, after_id (ThroughVersion and TransactionId, exclusive); batch_size (rows, 1 or more).
-- Gives: as prune_images.sql; last_version and last_id are the last one's ThroughVersion and TransactionId.
-- Plan: one range of IX_ChangeContext_ThroughVersion, from the position's version on.
WITH batch AS MATERIALIZED (
    SELECT TransactionId, AfterVersion, ThroughVersion
    FROM dms.ChangeContext
    WHERE ThroughVersion >= CAST(:after_version AS bigint)
      AND (ThroughVersion > CAST(:after_version AS bigint) OR TransactionId > CAST(:after_id AS bigint))
      AND ThroughVersion <= (SELECT min(ChangeVersion) FROM dms.JournalFloor WHERE Journal IN ('DocumentChangeEvent', 'DocumentDeleteEvent'))
    ORDER BY ThroughVersion, TransactionId
    LIMIT CAST(:batch_size AS bigint)
),
gone AS (
    DELETE FROM dms.ChangeContext AS said USING batch
    WHERE said.TransactionId = batch.TransactionId AND said.AfterVersion = batch.AfterVersion
    RETURNING said.TransactionId
)
SELECT (SELECT count(*) FROM batch) AS scanned, (SELECT count(*) FROM gone) AS deleted,
       last.ThroughVersion AS last_version, last.TransactionId AS last_id
FROM (SELECT 1) AS one
LEFT JOIN (SELECT ThroughVersion, TransactionId FROM batch ORDER BY ThroughVersion DESC, TransactionId DESC LIMIT 1) AS last ON true

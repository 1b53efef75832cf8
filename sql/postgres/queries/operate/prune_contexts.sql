-- sql/postgres/queries/operate/prune_contexts.sql: deletes the next contexts after a position whose events have all been pruned, oldest first.
-- Binds: after_version, after_id (ThroughVersion and TransactionId, exclusive); batch_size (rows, 1 or more).
-- Gives: as prune_images.sql; last_version and last_id are the last one's ThroughVersion and TransactionId.
-- Plan: after prune_begin, one range of IX_ChangeContext_ThroughVersion, from the position's version on, in its order alone (hence the ties:
--   to sort it all of the range would be read), and the rows by their place, as prune_document_changes.sql does.
WITH batch AS MATERIALIZED (
    SELECT ctid AS place, TransactionId, ThroughVersion
    FROM dms.ChangeContext
    WHERE ThroughVersion >= CAST(:after_version AS bigint)
      AND (ThroughVersion > CAST(:after_version AS bigint) OR TransactionId > CAST(:after_id AS bigint))
      AND ThroughVersion <= (SELECT min(ChangeVersion) FROM dms.JournalFloor WHERE Journal IN ('DocumentChangeEvent', 'DocumentDeleteEvent'))
    ORDER BY ThroughVersion
    FETCH FIRST (CAST(:batch_size AS bigint)) ROWS WITH TIES
),
gone AS (
    DELETE FROM dms.ChangeContext WHERE ctid = ANY (ARRAY(SELECT place FROM batch)) RETURNING TransactionId
)
SELECT (SELECT count(*) FROM batch) AS scanned, (SELECT count(*) FROM gone) AS deleted,
       last.ThroughVersion AS last_version, last.TransactionId AS last_id
FROM (SELECT 1) AS one
LEFT JOIN (SELECT ThroughVersion, TransactionId FROM batch ORDER BY ThroughVersion DESC, TransactionId DESC LIMIT 1) AS last ON true

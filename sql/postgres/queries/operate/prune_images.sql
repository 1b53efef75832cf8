-- sql/postgres/queries/operate/prune_images.sql: deletes the next images after a position whose events have been pruned, oldest first: those at or
-- below the floor of their event's journal.
-- Binds: after_version, after_id (exclusive); batch_size (rows, 1 or more).
-- Gives: one row. scanned: rows that were looked at, fewer than batch_size where none are left below the floors; deleted; last_version,
--   last_id.
-- Plan: after prune_begin, one range of the primary key from the position on, and that range again, or lookups by the key: who prunes may
--   not see where a row lies.
WITH floors AS MATERIALIZED (
    SELECT max(ChangeVersion) FILTER (WHERE Journal = 'DocumentChangeEvent') AS change,
           max(ChangeVersion) FILTER (WHERE Journal = 'DocumentDeleteEvent') AS tombstone
    FROM dms.JournalFloor
),
batch AS MATERIALIZED (
    SELECT ChangeVersion, DocumentId, IsDelete
    FROM dms.DocumentImage
    WHERE (ChangeVersion, DocumentId) > (CAST(:after_version AS bigint), CAST(:after_id AS bigint))
      AND ChangeVersion <= (SELECT greatest(change, tombstone) FROM floors)
    ORDER BY ChangeVersion, DocumentId
    LIMIT CAST(:batch_size AS bigint)
),
gone AS (
    DELETE FROM dms.DocumentImage AS image
    USING batch, floors
    WHERE image.ChangeVersion = batch.ChangeVersion AND image.DocumentId = batch.DocumentId
      AND image.ChangeVersion >= (SELECT min(ChangeVersion) FROM batch) AND image.ChangeVersion <= (SELECT max(ChangeVersion) FROM batch)
      AND batch.ChangeVersion <= CASE WHEN batch.IsDelete THEN floors.tombstone ELSE floors.change END
    RETURNING image.ChangeVersion
)
SELECT (SELECT count(*) FROM batch) AS scanned, (SELECT count(*) FROM gone) AS deleted,
       last.ChangeVersion AS last_version, last.DocumentId AS last_id
FROM (SELECT 1) AS one
LEFT JOIN (SELECT ChangeVersion, DocumentId FROM batch ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1) AS last ON true

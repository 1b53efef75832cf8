-- sql/postgres/queries/operate/prune_document_changes.sql: deletes the next document events after a position, oldest first, and raises their floor.
-- Binds: after_version, after_id (exclusive: where the batch before ended); through (inclusive, at most a horizon read before);
--   batch_size (rows, 1 or more).
-- Gives: one row. scanned: rows that were there to delete, fewer than batch_size where none are left up to `through`; deleted;
--   (last_version, last_id), the last one's position, null where there was none; floor, after it.
-- Rows and floor are of one statement, so of one transaction: whoever sees a row gone sees a floor at or above it (invariant 8). A batch
--   counts rows, whatever versions they have: the floor is at the last one's, also where the next batch begins in the same version.
-- Plan: one range of the primary key from the position on, so that no index entry of what was deleted before is looked at again, and
--   the rows by their place in the table, where nothing moves them: a journal's rows are never updated. Each partition has such a place,
--   where there are partitions: the batch's range keeps to the ones that it is in, and to its rows.
WITH batch AS MATERIALIZED (
    SELECT ctid AS place, ChangeVersion, DocumentId
    FROM dms.DocumentChangeEvent
    WHERE (ChangeVersion, DocumentId) > (CAST(:after_version AS bigint), CAST(:after_id AS bigint))
      AND ChangeVersion >= CAST(:after_version AS bigint)  -- see change_page.sql
      AND ChangeVersion <= CAST(:through AS bigint)
    ORDER BY ChangeVersion, DocumentId
    LIMIT CAST(:batch_size AS bigint)
),
done AS MATERIALIZED (
    SELECT count(*) AS scanned,
           CASE WHEN count(*) < CAST(:batch_size AS bigint) THEN CAST(:through AS bigint) ELSE max(ChangeVersion) END AS version
    FROM batch
),
gone AS (
    DELETE FROM dms.DocumentChangeEvent
    WHERE ctid = ANY (ARRAY(SELECT place FROM batch))
      AND (ChangeVersion, DocumentId) <= (SELECT ChangeVersion, DocumentId FROM batch ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1)
      AND ChangeVersion >= (SELECT min(ChangeVersion) FROM batch) AND ChangeVersion <= (SELECT max(ChangeVersion) FROM batch)
    RETURNING ChangeVersion
),
raised AS (  -- never lowered
    UPDATE dms.JournalFloor SET ChangeVersion = done.version, PrunedAt = clock_timestamp()
    FROM done
    WHERE Journal = 'DocumentChangeEvent' AND JournalFloor.ChangeVersion < done.version
    RETURNING JournalFloor.ChangeVersion
)
SELECT done.scanned, (SELECT count(*) FROM gone) AS deleted,
       last.ChangeVersion AS last_version, last.DocumentId AS last_id,
       coalesce((SELECT ChangeVersion FROM raised), floor.ChangeVersion) AS floor
FROM done
CROSS JOIN (SELECT ChangeVersion FROM dms.JournalFloor WHERE Journal = 'DocumentChangeEvent') AS floor
LEFT JOIN (SELECT ChangeVersion, DocumentId FROM batch ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1) AS last ON true

-- sql/postgres/queries/operate/prune_deletes.sql: deletes the next tombstones after a position, oldest first, and raises their floor.
-- Binds: after_version (exclusive); through (inclusive); batch_size. As prune_document_changes.sql tells.
WITH batch AS MATERIALIZED (
    SELECT ctid AS place, ChangeVersion, DocumentId
    FROM dms.DocumentDeleteEvent
    WHERE ChangeVersion > CAST(:after_version AS bigint)
      AND ChangeVersion <= CAST(:through AS bigint)
    ORDER BY ChangeVersion
    LIMIT CAST(:batch_size AS bigint)
),
done AS MATERIALIZED (
    SELECT count(*) AS scanned,
           CASE WHEN count(*) < CAST(:batch_size AS bigint) THEN CAST(:through AS bigint) ELSE max(ChangeVersion) END AS version
    FROM batch
),
gone AS (
    DELETE FROM dms.DocumentDeleteEvent
    WHERE ctid = ANY (ARRAY(SELECT place FROM batch))
      AND (ChangeVersion, DocumentId) <= (SELECT ChangeVersion, DocumentId FROM batch ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1)
      AND ChangeVersion >= (SELECT min(ChangeVersion) FROM batch) AND ChangeVersion <= (SELECT max(ChangeVersion) FROM batch)
    RETURNING ChangeVersion
),
raised AS (  -- never lowered
    UPDATE dms.JournalFloor SET ChangeVersion = done.version, PrunedAt = clock_timestamp()
    FROM done
    WHERE Journal = 'DocumentDeleteEvent' AND JournalFloor.ChangeVersion < done.version
    RETURNING JournalFloor.ChangeVersion
)
SELECT done.scanned, (SELECT count(*) FROM gone) AS deleted,
       last.ChangeVersion AS last_version, last.DocumentId AS last_id,
       coalesce((SELECT ChangeVersion FROM raised), floor.ChangeVersion) AS floor
FROM done
CROSS JOIN (SELECT ChangeVersion FROM dms.JournalFloor WHERE Journal = 'DocumentDeleteEvent') AS floor
LEFT JOIN (SELECT ChangeVersion, DocumentId FROM batch ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1) AS last ON true

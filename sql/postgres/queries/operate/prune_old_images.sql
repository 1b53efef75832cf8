-- sql/postgres/queries/operate/prune_old_images.sql: deletes the next images after a position, oldest first, whether their events stay or not, and
-- raises the version above which images are whole.
-- Binds: after_version, after_id (exclusive); through (inclusive, at most a horizon); batch_size. Gives as prune_document_changes.sql.
-- An event above the new version needs no image at or below it: docs/how-it-works.md, Images.
-- Plan: as prune_images.sql.
WITH batch AS MATERIALIZED (
    SELECT ChangeVersion, DocumentId
    FROM dms.DocumentImage
    WHERE (ChangeVersion, DocumentId) > (CAST(:after_version AS bigint), CAST(:after_id AS bigint))
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
    DELETE FROM dms.DocumentImage AS image
    USING batch
    WHERE image.ChangeVersion = batch.ChangeVersion AND image.DocumentId = batch.DocumentId
      AND image.ChangeVersion >= (SELECT min(ChangeVersion) FROM batch) AND image.ChangeVersion <= (SELECT max(ChangeVersion) FROM batch)
    RETURNING image.ChangeVersion
),
raised AS (  -- never lowered
    UPDATE dms.DocumentImageFloor AS floor SET ChangeVersion = done.version
    FROM done
    WHERE floor.ChangeVersion < done.version
    RETURNING floor.ChangeVersion
)
SELECT done.scanned, (SELECT count(*) FROM gone) AS deleted,
       last.ChangeVersion AS last_version, last.DocumentId AS last_id,
       coalesce((SELECT max(ChangeVersion) FROM raised), (SELECT max(ChangeVersion) FROM dms.DocumentImageFloor)) AS floor
FROM done
LEFT JOIN (SELECT ChangeVersion, DocumentId FROM batch ORDER BY ChangeVersion DESC, DocumentId DESC LIMIT 1) AS last ON true

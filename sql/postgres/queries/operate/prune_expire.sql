-- sql/postgres/queries/operate/prune_expire.sql: option partitions: raises the floor of a journal to the end of parts that are going to be dropped; runs after
-- prune_begin. PrunedAt is null meanwhile: rows are there yet, and the floor says already that they are not served.
-- Binds: journal; version (inclusive). Gives: floor.
WITH raised AS (
    UPDATE dms.JournalFloor SET ChangeVersion = CAST(:version AS bigint), PrunedAt = NULL
    WHERE Journal = :journal AND ChangeVersion < CAST(:version AS bigint)
    RETURNING ChangeVersion
)
SELECT greatest(ChangeVersion, (SELECT ChangeVersion FROM raised)) AS floor FROM dms.JournalFloor WHERE Journal = :journal

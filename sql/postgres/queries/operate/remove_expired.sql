-- sql/postgres/queries/operate/remove_expired.sql: removes events at or below their journal's floor, where pruning says that there are none.
-- Binds: size (rows of each journal, 1 or more). Gives: rows, how many went.
-- Plan:  ranges of the journals' primary keys.
WITH floors AS MATERIALIZED (SELECT Journal, ChangeVersion FROM dms.JournalFloor WHERE PrunedAt IS NOT NULL),
documents AS (
    DELETE FROM dms.DocumentChangeEvent WHERE (ChangeVersion, DocumentId) IN (
        SELECT ChangeVersion, DocumentId FROM dms.DocumentChangeEvent
        WHERE ChangeVersion <= (SELECT ChangeVersion FROM floors WHERE Journal = 'DocumentChangeEvent')
        ORDER BY ChangeVersion, DocumentId LIMIT CAST(:size AS bigint))
    RETURNING 1
),
identities AS (
    DELETE FROM dms.IdentityChangeEvent WHERE (ChangeVersion, DocumentId) IN (
        SELECT ChangeVersion, DocumentId FROM dms.IdentityChangeEvent
        WHERE ChangeVersion <= (SELECT ChangeVersion FROM floors WHERE Journal = 'IdentityChangeEvent')
        ORDER BY ChangeVersion, DocumentId LIMIT CAST(:size AS bigint))
    RETURNING 1
),
keys AS (
    DELETE FROM dms.KeyChangeEvent WHERE ChangeVersion IN (
        SELECT ChangeVersion FROM dms.KeyChangeEvent
        WHERE ChangeVersion <= (SELECT ChangeVersion FROM floors WHERE Journal = 'KeyChangeEvent')
        ORDER BY ChangeVersion LIMIT CAST(:size AS bigint))
    RETURNING 1
),
tombstones AS (
    DELETE FROM dms.DocumentDeleteEvent WHERE ChangeVersion IN (
        SELECT ChangeVersion FROM dms.DocumentDeleteEvent
        WHERE ChangeVersion <= (SELECT ChangeVersion FROM floors WHERE Journal = 'DocumentDeleteEvent')
        ORDER BY ChangeVersion LIMIT CAST(:size AS bigint))
    RETURNING 1
)
SELECT (SELECT count(*) FROM documents) + (SELECT count(*) FROM identities) + (SELECT count(*) FROM keys)
       + (SELECT count(*) FROM tombstones) AS rows

-- sql/postgres/queries/operate/verify_batch.sql: where the next batch of a walk ends, so that no statement of verify looks at all of a table.
-- Binds: walk (documents, edges, events, tombstones, key_changes); after (exclusive); size (rows, 1 or more).
-- Gives: last (inclusive; null where nothing is left) and rows. The walks go by DocumentId, ParentDocumentId and ChangeVersion.
-- Plan:  a range of one primary key; the other branches are never begun. The planner does not see `after` (it is in a SELECT): where old
--   statistics tell of few rows behind it, it would collect and sort all that there are, for each batch.
SELECT max(batch.place) AS last, count(*) AS rows
FROM (
    (SELECT DocumentId AS place FROM dms.Document
     WHERE CAST(:walk AS text) = 'documents' AND DocumentId > (SELECT CAST(:after AS bigint)) ORDER BY DocumentId LIMIT CAST(:size AS bigint))
    UNION ALL
    (SELECT ParentDocumentId FROM dms.ReferenceEdge
     WHERE CAST(:walk AS text) = 'edges' AND ParentDocumentId > (SELECT CAST(:after AS bigint))
     ORDER BY ParentDocumentId LIMIT CAST(:size AS bigint))
    UNION ALL
    (SELECT ChangeVersion FROM dms.DocumentChangeEvent
     WHERE CAST(:walk AS text) = 'events' AND ChangeVersion > (SELECT CAST(:after AS bigint)) ORDER BY ChangeVersion LIMIT CAST(:size AS bigint))
    UNION ALL
    (SELECT ChangeVersion FROM dms.DocumentDeleteEvent
     WHERE CAST(:walk AS text) = 'tombstones' AND ChangeVersion > (SELECT CAST(:after AS bigint))
     ORDER BY ChangeVersion LIMIT CAST(:size AS bigint))
    UNION ALL
    (SELECT ChangeVersion FROM dms.KeyChangeEvent
     WHERE CAST(:walk AS text) = 'key_changes' AND ChangeVersion > (SELECT CAST(:after AS bigint))
     ORDER BY ChangeVersion LIMIT CAST(:size AS bigint))
) AS batch

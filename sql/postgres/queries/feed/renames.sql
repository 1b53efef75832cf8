-- sql/postgres/queries/feed/renames.sql: the identity changes in a range of versions, oldest first, for the documents that refer to what changed.
-- Binds: first_version, max_version (inclusive; at most a horizon that was read before); most (rows).
-- Gives: one row an identity change, and one row at least. Every row has `floor`, the journal's; change_version, document_id of the change;
--   transaction_id, created_at of its event, null where that is pruned; is_referred, whether anything refers to the document now.
-- Plan: one range of the primary key; for each row a lookup in DocumentChangeEvent and one in IX_ReferenceEdge_Child.
SELECT floor.ChangeVersion AS floor, renamed.ChangeVersion AS change_version, renamed.DocumentId AS document_id,
       event.TransactionId AS transaction_id, event.CreatedAt AS created_at,
       CASE WHEN referred.found IS NULL THEN 0 ELSE 1 END AS is_referred
FROM dms.JournalFloor AS floor
LEFT JOIN LATERAL (
    SELECT ChangeVersion, DocumentId FROM dms.IdentityChangeEvent
    WHERE ChangeVersion >= CAST(:first_version AS bigint) AND ChangeVersion <= CAST(:max_version AS bigint)
    ORDER BY ChangeVersion, DocumentId
    LIMIT CAST(:most AS bigint)
) AS renamed ON true
LEFT JOIN LATERAL (
    SELECT TransactionId, CreatedAt FROM dms.DocumentChangeEvent
    WHERE ChangeVersion = renamed.ChangeVersion AND DocumentId = renamed.DocumentId OFFSET 0
) AS event ON true
LEFT JOIN LATERAL (
    SELECT 1 AS found FROM dms.ReferenceEdge
    WHERE ChildDocumentId = renamed.DocumentId
    ORDER BY ChildDocumentId, ParentResourceKeyId, ParentDocumentId LIMIT 1
) AS referred ON true
WHERE floor.Journal = 'IdentityChangeEvent'
ORDER BY renamed.ChangeVersion, renamed.DocumentId

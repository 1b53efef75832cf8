-- sql/sqlserver/queries/feed/renames.sql: the identity changes in a range of versions, oldest first, for the documents that refer to what changed.
-- Binds: first_version, max_version (inclusive; at most a horizon that was read before); most (rows).
-- Gives: one row an identity change, and one row at least. Every row has `floor`, the journal's; change_version, document_id of the change;
--   transaction_id, created_at of its event, null where that is pruned; is_referred, whether anything refers to the document now.
-- Exact also where each row is read at a moment of its own: the floor is read last (see deletes.sql).
-- Plan: one range of the primary key; for each row a lookup in DocumentChangeEvent and one in IX_ReferenceEdge_Child.
SET NOCOUNT ON;
DECLARE @first_version bigint = :first_version, @max_version bigint = :max_version, @most bigint = :most;
DECLARE @renamed TABLE (
    ChangeVersion bigint NOT NULL,
    DocumentId    bigint NOT NULL,
    PRIMARY KEY (ChangeVersion, DocumentId)
);
INSERT INTO @renamed (ChangeVersion, DocumentId)
SELECT TOP (@most) ChangeVersion, DocumentId
FROM dms.IdentityChangeEvent WITH (INDEX (PK_IdentityChangeEvent), FORCESEEK)
WHERE ChangeVersion >= @first_version AND ChangeVersion <= @max_version
ORDER BY ChangeVersion, DocumentId;
SELECT floor.ChangeVersion AS floor, renamed.ChangeVersion AS change_version, renamed.DocumentId AS document_id,
       event.TransactionId AS transaction_id, event.CreatedAt AS created_at,
       CASE WHEN referred.found IS NULL THEN 0 ELSE 1 END AS is_referred
FROM dms.JournalFloor AS floor
LEFT JOIN @renamed AS renamed ON 1 = 1
LEFT JOIN dms.DocumentChangeEvent AS event
    ON event.ChangeVersion = renamed.ChangeVersion AND event.DocumentId = renamed.DocumentId
OUTER APPLY (SELECT TOP (1) 1 AS found FROM dms.ReferenceEdge WHERE ChildDocumentId = renamed.DocumentId) AS referred
WHERE floor.Journal = N'IdentityChangeEvent'
ORDER BY renamed.ChangeVersion, renamed.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);

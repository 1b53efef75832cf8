-- sql/sqlserver/queries/operate/verify_maxima.sql: option max_dep_identity_version: the documents of a batch whose stored maximum is below a child's
-- identity stamp, where readers go by it: the triggers that keep it did not fire.
-- Binds: after (exclusive), last (inclusive): DocumentIds. Gives: what verify_documents gives.
-- Exact while others write, at each isolation level, by the order of its statements: whether all is filled, which it stays; the children;
-- then the parents, which were raised with them, or stamped where an edge is gone, and whose versions only rise.
-- Plan:  a range of PK_ReferenceEdge; lookups by key.
SET NOCOUNT ON;
DECLARE @after bigint = :after, @last bigint = :last;
DECLARE @batch TABLE (DocumentId bigint NOT NULL PRIMARY KEY, NewestChild bigint NOT NULL);
IF NOT EXISTS (SELECT * FROM dms.MaxDepIdentityPending)
    INSERT INTO @batch (DocumentId, NewestChild)
    SELECT edge.ParentDocumentId, MAX(child.IdentityVersion)
    FROM dms.ReferenceEdge AS edge INNER JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
    WHERE edge.ParentDocumentId > @after AND edge.ParentDocumentId <= @last
    GROUP BY edge.ParentDocumentId
    OPTION (LOOP JOIN, FORCE ORDER);
SELECT 'maximum-stale' AS code, d.DocumentId AS document_id, 1 AS is_content, 0 AS is_identity, 0 AS is_key,
       d.ContentVersion AS content_version, d.IdentityVersion AS identity_version
FROM @batch AS batch INNER JOIN dms.Document AS d ON d.DocumentId = batch.DocumentId
WHERE d.ContentVersion < batch.NewestChild AND d.IdentityVersion < batch.NewestChild AND d.MaxDepIdentityVersion < batch.NewestChild
ORDER BY d.DocumentId
OPTION (LOOP JOIN);

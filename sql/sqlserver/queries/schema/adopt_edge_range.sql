-- sql/sqlserver/queries/schema/adopt_edge_range.sql: where the next batch of edges ends, by their parents, all of a parent's at once.
-- Binds: after_id (exclusive), batch_size (edges). Gives: through_id, null at the end; documents (edges).
SELECT MAX(batch.ParentDocumentId) AS through_id, COUNT_BIG(*) AS documents
FROM (
    SELECT TOP (:batch_size) ParentDocumentId FROM dms.ReferenceEdge WHERE ParentDocumentId > :after_id ORDER BY ParentDocumentId
) AS batch;

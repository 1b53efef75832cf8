-- sql/postgres/queries/schema/adopt_edge_range.sql: where the next batch of edges ends, by their parents, all of a parent's at once.
-- Binds: after_id (exclusive), batch_size (edges). Gives: through_id, null at the end; documents (edges).
SELECT max(ParentDocumentId) AS through_id, count(*) AS documents
FROM (SELECT ParentDocumentId FROM dms.ReferenceEdge WHERE ParentDocumentId > CAST(:after_id AS bigint)
      ORDER BY ParentDocumentId LIMIT CAST(:batch_size AS bigint)) AS batch

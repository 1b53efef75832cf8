-- sql/sqlserver/queries/schema/adopt_document_range.sql: where the next batch of documents ends. Binds: after_id (exclusive), batch_size.
-- Gives: through_id, null at the end; documents.
SELECT MAX(batch.DocumentId) AS through_id, COUNT_BIG(*) AS documents
FROM (SELECT TOP (:batch_size) DocumentId FROM dms.Document WHERE DocumentId > :after_id ORDER BY DocumentId) AS batch;

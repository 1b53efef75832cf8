-- sql/postgres/queries/schema/adopt_document_range.sql: where the next batch of documents ends. Binds: after_id (exclusive), batch_size.
-- Gives: through_id, null at the end; documents.
SELECT max(DocumentId) AS through_id, count(*) AS documents
FROM (SELECT DocumentId FROM dms.Document WHERE DocumentId > CAST(:after_id AS bigint) ORDER BY DocumentId LIMIT CAST(:batch_size AS bigint)) AS batch

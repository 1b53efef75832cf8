-- benchmarks/sql/existing/progress.sql: how many rows have a document, about.
SELECT coalesce(max(DocumentId), 0) FROM dms.Document

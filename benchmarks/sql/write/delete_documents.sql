-- benchmarks/sql/write/delete_documents.sql: bulk delete. Binds: first, last (DocumentId, inclusive).
DELETE FROM Document WHERE DocumentId BETWEEN :first AND :last

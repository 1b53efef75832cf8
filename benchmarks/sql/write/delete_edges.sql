-- benchmarks/sql/write/delete_edges.sql: bulk delete of edges. Binds: first, last (ParentDocumentId, inclusive).
DELETE FROM ReferenceEdge WHERE ParentDocumentId BETWEEN :first AND :last

-- benchmarks/sql/write/insert_edges.sql: one edge a parent, to one of the first 1,000 documents. Binds: first, last (ParentDocumentId, inclusive).
INSERT INTO ReferenceEdge (ParentDocumentId, ChildDocumentId, ParentResourceKeyId)
SELECT id, 1 + id % 1000, 2 FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS id

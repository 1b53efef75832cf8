-- benchmarks/sql/hub/hub.sql: a document and what refers to it, written as anybody writes. Binds: parents. Gives: nothing.
WITH resource AS (
    INSERT INTO dms.ResourceKey VALUES (1, 'Benchmark', 'Hub', '1.0'), (2, 'Benchmark', 'Parent', '1.0')
),
hub AS (
    INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES (1, 1)
),
parent AS (
    INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT 1 + n, 2 FROM generate_series(1, :parents) AS n
)
INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) SELECT 1 + n, 1 FROM generate_series(1, :parents) AS n

-- benchmarks/sql/option/parents.sql: one child and what refers to it, written as anybody writes, of resources of their own.
-- Binds: child_id, above every id of the history; parents follow it. Gives: nothing.
WITH resource AS (
    INSERT INTO dms.ResourceKey VALUES (1001, 'Benchmark', 'Child', '1.0'), (1002, 'Benchmark', 'Parent', '1.0')
),
child AS (
    INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES (:child_id, 1001)
),
parent AS (
    INSERT INTO dms.Document (DocumentId, ResourceKeyId) SELECT :child_id + n, 1002 FROM generate_series(1, :parents) AS n
)
INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId) SELECT :child_id + n, :child_id FROM generate_series(1, :parents) AS n

-- benchmarks/sql/plan/part.sql: the events between two versions, both inclusive. Binds: first, last.
SELECT count(*) AS events FROM dms.DocumentChangeEvent WHERE ChangeVersion BETWEEN CAST(:first AS bigint) AND CAST(:last AS bigint)

-- benchmarks/sql/plan/strides.sql: the events of the largest of the parts that equal strides of versions give, as Spark cuts a numeric column.
-- Binds: first, last (versions, inclusive); parts. Gives: largest, events.
SELECT max(events) AS largest, sum(events) AS events
FROM (
    SELECT least((ChangeVersion - CAST(:first AS bigint)) * CAST(:parts AS bigint) / (CAST(:last AS bigint) - CAST(:first AS bigint) + 1),
                 CAST(:parts AS bigint) - 1) AS part, count(*) AS events
    FROM dms.DocumentChangeEvent
    WHERE ChangeVersion BETWEEN CAST(:first AS bigint) AND CAST(:last AS bigint)
    GROUP BY part
) AS strides

-- benchmarks/sql/plan/events.sql: a skewed journal: nine tenths of the events in a hundredth of the versions, a third of the way; the rest anywhere.
-- Binds: events.
INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ResourceKeyId, Operation, TransactionId, CreatedAt)
SELECT version, 1 + mod(version, 1000), 1 + mod(version, 20), 'update', 1, timestamptz '2026-01-01 00:00:00+00'
FROM (
    SELECT CAST(:events AS bigint) * 30 + n AS version FROM generate_series(1, CAST(:events AS bigint) * 9 / 10) AS n
    UNION
    SELECT 1 + mod(hashint8extended(n, 1) & 9223372036854775807, CAST(:events AS bigint) * 90)
    FROM generate_series(1, CAST(:events AS bigint) / 10) AS n
) AS stamped
ORDER BY version

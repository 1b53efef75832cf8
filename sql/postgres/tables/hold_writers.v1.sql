-- sql/postgres/tables/hold_writers.v1.sql: no writer is on its way while a migration fills something from the documents or the edges, or
-- adds a trigger that from then on keeps it; readers go on. Waits at most for lock_timeout.
LOCK TABLE dms.Document, dms.ReferenceEdge IN SHARE ROW EXCLUSIVE MODE;

-- sql/sqlserver/tables/hold_writers.v1.sql: no writer is on its way while a migration fills something from the documents or the edges, or
-- adds a trigger that from then on keeps it. Waits at most for the lock timeout.
DECLARE @held bigint;
SELECT @held = COUNT_BIG(*) FROM (SELECT TOP (1) DocumentId FROM dms.Document WITH (TABLOCKX, HOLDLOCK)) AS document;
SELECT @held = COUNT_BIG(*) FROM (SELECT TOP (1) ParentDocumentId FROM dms.ReferenceEdge WITH (TABLOCKX, HOLDLOCK)) AS edge;

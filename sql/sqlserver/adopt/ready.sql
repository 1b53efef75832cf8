-- sql/sqlserver/adopt/ready.sql: in place of checks/installable.sql, when the tables have their shape: no writer is on its way from here to
-- the end of the transaction, which brings the triggers. It reads and writes no rows: what is long came before, or comes after.
DECLARE @held bigint;
IF OBJECT_ID(N'dms.Adoption') IS NULL
   OR (SELECT COUNT(*) FROM sys.indexes WHERE object_id = OBJECT_ID(N'dms.Document') AND name IN (N'adoption_content', N'adoption_identity')) <> 2
    THROW 50006, N'dms.Document is not ready to be adopted. Run dmsjournal adopt.', 1;
SELECT @held = COUNT_BIG(*) FROM (SELECT TOP (1) DocumentId FROM dms.Document WITH (TABLOCKX, HOLDLOCK)) AS document;
IF OBJECT_ID(N'dms.ReferenceEdge') IS NOT NULL
    SELECT @held = COUNT_BIG(*) FROM (SELECT TOP (1) ParentDocumentId FROM dms.ReferenceEdge WITH (TABLOCKX, HOLDLOCK)) AS edge;

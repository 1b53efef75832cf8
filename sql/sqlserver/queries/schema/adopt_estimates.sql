-- sql/sqlserver/queries/schema/adopt_estimates.sql: how many documents and edges there are, as the server counts them. Gives: documents, edges.
SELECT COALESCE(SUM(CASE WHEN part.object_id = OBJECT_ID(N'dms.Document') THEN part.rows END), 0) AS documents,
       COALESCE(SUM(CASE WHEN part.object_id = OBJECT_ID(N'dms.ReferenceEdge') THEN part.rows END), 0) AS edges
FROM sys.partitions AS part WHERE part.index_id IN (0, 1);

-- sql/sqlserver/queries/schema/adopt_check_edges.sql: edges that lead nowhere, or twice. Gives: subject, found, remedy. Reads all edges.
SELECT N'dms.ReferenceEdge' AS subject,
       CONCAT(COUNT_BIG(*), N' edges have a parent or a child that does not exist, such as ', MIN(ParentDocumentId), N' to ', MIN(ChildDocumentId)) AS found,
       N'DELETE FROM dms.ReferenceEdge WHERE NOT EXISTS (SELECT * FROM dms.Document WHERE DocumentId = ParentDocumentId), and the same for the child.' AS remedy
FROM dms.ReferenceEdge AS e
WHERE NOT EXISTS (SELECT * FROM dms.Document AS p WHERE p.DocumentId = e.ParentDocumentId)
   OR NOT EXISTS (SELECT * FROM dms.Document AS c WHERE c.DocumentId = e.ChildDocumentId) HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.ReferenceEdge', CONCAT(COUNT_BIG(*), N' edges are there more than once, such as ', MIN(ParentDocumentId), N' to ', MIN(ChildDocumentId)), N'Delete all but one of each.'
FROM (SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge GROUP BY ParentDocumentId, ChildDocumentId HAVING COUNT_BIG(*) > 1) AS repeated
HAVING COUNT_BIG(*) > 0;

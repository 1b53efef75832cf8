-- sql/postgres/queries/schema/adopt_check_edges.sql: edges that lead nowhere, or twice. Gives: subject, found, remedy. Reads all edges.
SELECT 'dms.ReferenceEdge' AS subject,
       concat(count(*), ' edges have a parent or a child that does not exist, such as ', min(ParentDocumentId), ' to ', min(ChildDocumentId)) AS found,
       'DELETE FROM dms.ReferenceEdge AS e WHERE NOT EXISTS (SELECT FROM dms.Document WHERE DocumentId = e.ParentDocumentId), and the same for the child.' AS remedy
FROM dms.ReferenceEdge AS e
WHERE NOT EXISTS (SELECT FROM dms.Document WHERE DocumentId = e.ParentDocumentId)
   OR NOT EXISTS (SELECT FROM dms.Document WHERE DocumentId = e.ChildDocumentId) HAVING count(*) > 0
UNION ALL
SELECT 'dms.ReferenceEdge', concat(count(*), ' edges are there more than once, such as ', min(ParentDocumentId), ' to ', min(ChildDocumentId)), 'Delete all but one of each.'
FROM (SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge GROUP BY ParentDocumentId, ChildDocumentId HAVING count(*) > 1) AS repeated
HAVING count(*) > 0

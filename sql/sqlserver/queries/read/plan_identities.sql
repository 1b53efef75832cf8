-- sql/sqlserver/queries/read/plan_identities.sql: the first identity events in ranges of versions, with the parents that they move.
-- Binds: ranges (JSON array of {range, first, last}: a number, and versions, inclusive); most_events (of a range); most_parents (of an
--   event, to count to).
-- Gives: one row an event, by range, then by version; its weight is 1 and, where no later identity event of the document has overtaken it,
--   its parents.
-- Plan: a range of the key (ChangeVersion, DocumentId) for each of the ranges, and for an event one of IX_ReferenceEdge_Child. What it
--   reads depends on the binds, never on the window.
SET NOCOUNT ON;
DECLARE @ranges nvarchar(max) = :ranges, @most_events bigint = :most_events, @most_parents bigint = :most_parents;
SELECT asked.range, event.ChangeVersion AS change_version,
       1 + (SELECT COUNT_BIG(*)
            FROM (SELECT TOP (@most_parents) edge.ParentDocumentId
                  FROM dms.Document AS child
                  INNER JOIN dms.ReferenceEdge AS edge ON edge.ChildDocumentId = child.DocumentId
                  WHERE child.DocumentId = event.DocumentId AND child.IdentityVersion = event.ChangeVersion) AS parents) AS weight
FROM OPENJSON(@ranges) WITH (range int '$.range', first bigint '$.first', last bigint '$.last') AS asked
CROSS APPLY (
    SELECT TOP (@most_events) ChangeVersion, DocumentId FROM dms.IdentityChangeEvent WITH (INDEX (PK_IdentityChangeEvent), FORCESEEK)
    WHERE ChangeVersion BETWEEN asked.first AND asked.last
    ORDER BY ChangeVersion, DocumentId
) AS event
ORDER BY asked.range, event.ChangeVersion
OPTION (LOOP JOIN, FORCE ORDER);

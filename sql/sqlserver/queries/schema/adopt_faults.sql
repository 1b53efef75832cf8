-- sql/sqlserver/queries/schema/adopt_faults.sql: what an adoption must have done, before readers are let in. Gives: subject, found, remedy; no row
-- where all is well. Reads everything. Without READ_COMMITTED_SNAPSHOT what is written meanwhile may be seen in halves: then run adopt again.
SELECT N'dms.Document' AS subject, CONCAT(COUNT_BIG(*), N' documents have no stamp, such as ', MIN(DocumentId)) AS found, N'Run adopt again.' AS remedy
FROM dms.Document WHERE ContentVersion <= 0 OR IdentityVersion <= 0 HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.Document', CONCAT(COUNT_BIG(*), N' documents have not the hash of their key values, such as ', MIN(DocumentId)), N'Run adopt again.'
FROM dms.Document
WHERE KeyValues IS NOT NULL AND COALESCE(KeyValuesHash, 0x) <> CAST(HASHBYTES('SHA2_256', KeyValues) AS binary(32)) HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.DocumentChangeEvent', CONCAT(COUNT_BIG(*), N' documents have no event at their version, such as ', MIN(d.DocumentId)), N'Run adopt again.'
FROM dms.Document AS d
WHERE NOT EXISTS (
    SELECT * FROM dms.DocumentChangeEvent AS e
    WHERE e.ChangeVersion = CASE WHEN d.ContentVersion > d.IdentityVersion THEN d.ContentVersion ELSE d.IdentityVersion END
      AND e.DocumentId = d.DocumentId) HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.IdentityChangeEvent', CONCAT(COUNT_BIG(DISTINCT c.DocumentId), N' documents witness a parent without an event, such as ', MIN(c.DocumentId)), N'Run adopt again.'
FROM dms.ReferenceEdge AS e
INNER JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId
INNER JOIN dms.Document AS p ON p.DocumentId = e.ParentDocumentId AND p.ContentVersion < c.IdentityVersion AND p.IdentityVersion < c.IdentityVersion
WHERE NOT EXISTS (
    SELECT * FROM dms.IdentityChangeEvent AS i WHERE i.ChangeVersion = c.IdentityVersion AND i.DocumentId = c.DocumentId) HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.ReferenceEdge', CONCAT(COUNT_BIG(*), N' edges name another resource than their parent''s, such as those of ', MIN(e.ParentDocumentId)), N'Run adopt again.'
FROM dms.ReferenceEdge AS e INNER JOIN dms.Document AS p ON p.DocumentId = e.ParentDocumentId
WHERE p.ResourceKeyId <> e.ParentResourceKeyId HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.ResourceDependency', CONCAT(COUNT_BIG(*), N' pairs of resources are missing'), N'Run adopt again.'
FROM (
    SELECT e.ParentResourceKeyId, c.ResourceKeyId FROM dms.ReferenceEdge AS e INNER JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId
    EXCEPT SELECT ParentResourceKeyId, ChildResourceKeyId FROM dms.ResourceDependency
) AS missing HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.ChangeVersionSequence', CONCAT(N'it is at ', MAX(CAST(s.current_value AS bigint)), N', below version ', MAX(stamped.newest)), N'Run adopt again.'
FROM (SELECT MAX(version) AS newest FROM (SELECT MAX(ContentVersion) AS version FROM dms.Document UNION ALL SELECT MAX(IdentityVersion) FROM dms.Document) AS each_of) AS stamped
CROSS JOIN sys.sequences AS s
WHERE s.object_id = OBJECT_ID(N'dms.ChangeVersionSequence') AND stamped.newest > CAST(s.current_value AS bigint) HAVING COUNT_BIG(*) > 0
UNION ALL
SELECT N'dms.Document.IdentityVersion', CONCAT(COUNT_BIG(*), N' values are of several documents, such as ', MIN(IdentityVersion)), N'Adopt with --new-stamps.'
FROM (SELECT IdentityVersion FROM dms.Document GROUP BY IdentityVersion HAVING COUNT_BIG(*) > 1) AS repeated HAVING COUNT_BIG(*) > 0;

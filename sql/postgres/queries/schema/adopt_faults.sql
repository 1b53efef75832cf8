-- sql/postgres/queries/schema/adopt_faults.sql: what an adoption must have done, before readers are let in. Gives: subject, found, remedy; no row
-- where all is well. One snapshot, no locks. Reads everything.
SELECT 'dms.Document' AS subject, concat(count(*), ' documents have no stamp, such as ', min(DocumentId)) AS found, 'Run adopt again.' AS remedy
FROM dms.Document WHERE ContentVersion <= 0 OR IdentityVersion <= 0 HAVING count(*) > 0
UNION ALL
SELECT 'dms.DocumentChangeEvent', concat(count(*), ' documents have no event at their version, such as ', min(d.DocumentId)), 'Run adopt again.'
FROM dms.Document AS d
WHERE NOT EXISTS (
    SELECT FROM dms.DocumentChangeEvent AS e
    WHERE e.ChangeVersion = greatest(d.ContentVersion, d.IdentityVersion) AND e.DocumentId = d.DocumentId) HAVING count(*) > 0
UNION ALL
SELECT 'dms.IdentityChangeEvent', concat(count(DISTINCT c.DocumentId), ' documents witness a parent without an event, such as ', min(c.DocumentId)), 'Run adopt again.'
FROM dms.ReferenceEdge AS e
JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId
JOIN dms.Document AS p ON p.DocumentId = e.ParentDocumentId AND greatest(p.ContentVersion, p.IdentityVersion) < c.IdentityVersion
WHERE NOT EXISTS (
    SELECT FROM dms.IdentityChangeEvent AS i WHERE i.ChangeVersion = c.IdentityVersion AND i.DocumentId = c.DocumentId) HAVING count(*) > 0
UNION ALL
SELECT 'dms.ReferenceEdge', concat(count(*), ' edges name another resource than their parent''s, such as those of ', min(e.ParentDocumentId)), 'Run adopt again.'
FROM dms.ReferenceEdge AS e JOIN dms.Document AS p ON p.DocumentId = e.ParentDocumentId
WHERE p.ResourceKeyId <> e.ParentResourceKeyId HAVING count(*) > 0
UNION ALL
SELECT 'dms.ResourceDependency', concat(count(*), ' pairs of resources are missing'), 'Run adopt again.'
FROM (
    SELECT DISTINCT e.ParentResourceKeyId, c.ResourceKeyId FROM dms.ReferenceEdge AS e JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId
    EXCEPT SELECT ParentResourceKeyId, ChildResourceKeyId FROM dms.ResourceDependency) AS missing HAVING count(*) > 0
UNION ALL
SELECT 'dms.ChangeVersionSequence', concat('it is at ', sequence.drawn, ', below version ', stamped.newest), 'Run adopt again.'
FROM (SELECT max(greatest(ContentVersion, IdentityVersion)) AS newest FROM dms.Document) AS stamped
CROSS JOIN (SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS drawn FROM dms.ChangeVersionSequence) AS sequence
WHERE stamped.newest > sequence.drawn
UNION ALL
SELECT 'dms.Document.IdentityVersion', concat(count(*), ' values are of several documents, such as ', min(IdentityVersion)), 'Adopt with --new-stamps.'
FROM (SELECT IdentityVersion FROM dms.Document GROUP BY IdentityVersion HAVING count(*) > 1) AS repeated HAVING count(*) > 0

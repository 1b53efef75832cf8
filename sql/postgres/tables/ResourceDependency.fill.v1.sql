-- sql/postgres/tables/ResourceDependency.fill.v1.sql: the edges that are there already: their parents' resources, whatever was written, and
-- the pairs of resources. No parent was stamped for them, so what happened before is not known: the floors rise to the newest stamp.
UPDATE dms.ReferenceEdge AS edge SET ParentResourceKeyId = parent.ResourceKeyId
FROM dms.Document AS parent
WHERE parent.DocumentId = edge.ParentDocumentId AND edge.ParentResourceKeyId <> parent.ResourceKeyId;
INSERT INTO dms.ResourceDependency (ParentResourceKeyId, ChildResourceKeyId)
SELECT DISTINCT e.ParentResourceKeyId, c.ResourceKeyId
FROM dms.ReferenceEdge AS e JOIN dms.Document AS c ON c.DocumentId = e.ChildDocumentId;
UPDATE dms.JournalFloor SET ChangeVersion = pg_sequence_last_value('dms.ChangeVersionSequence')
WHERE Journal IN ('DocumentChangeEvent', 'IdentityChangeEvent') AND EXISTS (SELECT FROM dms.ReferenceEdge);

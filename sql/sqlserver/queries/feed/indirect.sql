-- sql/sqlserver/queries/feed/indirect.sql: the next documents that refer to what these identity changes changed, in (change_version, document_id) order.
-- Binds: rows (JSON array of {change_version, document_id, after_id}; at most a horizon that was read before; after_id exclusive, of the
--   documents that refer); looked (references to look at in all, 1 or more); with_key, with_body: whether to give keys and bodies.
-- Gives: one row a reference that was looked at: change_version, cause_id (the document that changed), document_id (the one that refers);
--   is_told, whether nobody has written it since: it refers to the other one as it did then (an edge that comes stamps its parent,
--   invariant 3), and has no later event of its own; resource_key_id, document_uuid, key_values, body.
-- Exact also where each row is read at a moment of its own: a body is read before its document, a document after its edge.
-- Plan: for each identity change one range of IX_ReferenceEdge_Child a resource that may refer to it, each of `looked` entries at most; for
--   `looked` of them all a lookup in Document.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows, @looked bigint = :looked, @with_key bit = :with_key, @with_body bit = :with_body;
DECLARE @edge TABLE (
    ChangeVersion    bigint NOT NULL,
    DocumentId       bigint NOT NULL,
    ParentDocumentId bigint NOT NULL,
    PRIMARY KEY (ChangeVersion, ParentDocumentId, DocumentId)
);
DECLARE @body TABLE (DocumentId bigint NOT NULL PRIMARY KEY, DocumentJson nvarchar(max) NOT NULL);
INSERT INTO @edge (ChangeVersion, DocumentId, ParentDocumentId)
SELECT TOP (@looked) wanted.change_version, wanted.document_id, referrer.ParentDocumentId
FROM OPENJSON(@rows) WITH (
    change_version bigint '$.change_version', document_id bigint '$.document_id', after_id bigint '$.after_id') AS wanted
INNER JOIN dms.Document AS child ON child.DocumentId = wanted.document_id
INNER JOIN dms.ResourceDependency AS dependency ON dependency.ChildResourceKeyId = child.ResourceKeyId
CROSS APPLY (
    SELECT TOP (@looked) ParentDocumentId FROM dms.ReferenceEdge
    WHERE ChildDocumentId = wanted.document_id AND ParentResourceKeyId = dependency.ParentResourceKeyId
      AND ParentDocumentId > wanted.after_id
    ORDER BY ChildDocumentId, ParentResourceKeyId, ParentDocumentId
) AS referrer
WHERE referrer.ParentDocumentId <> wanted.document_id
ORDER BY wanted.change_version, referrer.ParentDocumentId, wanted.document_id
OPTION (LOOP JOIN, FORCE ORDER);
IF @with_body = 1
    INSERT INTO @body (DocumentId, DocumentJson)
    SELECT cache.DocumentId, cache.DocumentJson
    FROM (SELECT DISTINCT ParentDocumentId FROM @edge) AS listed
    INNER JOIN dms.DocumentCache AS cache ON cache.DocumentId = listed.ParentDocumentId
    OPTION (LOOP JOIN, FORCE ORDER);
SELECT edge.ChangeVersion AS change_version, edge.DocumentId AS cause_id, edge.ParentDocumentId AS document_id,
       CASE WHEN newest.local < edge.ChangeVersion THEN 1 ELSE 0 END AS is_told, parent.ResourceKeyId AS resource_key_id,
       parent.DocumentUuid AS document_uuid, CASE WHEN @with_key = 1 THEN parent.KeyValues END AS key_values,
       CASE WHEN newest.local < edge.ChangeVersion THEN body.DocumentJson END AS body
FROM @edge AS edge
LEFT JOIN dms.Document AS parent ON parent.DocumentId = edge.ParentDocumentId
OUTER APPLY (SELECT CASE WHEN parent.ContentVersion > parent.IdentityVersion THEN parent.ContentVersion
                         ELSE parent.IdentityVersion END AS local) AS newest
LEFT JOIN @body AS body ON body.DocumentId = edge.ParentDocumentId
ORDER BY edge.ChangeVersion, edge.ParentDocumentId, edge.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);

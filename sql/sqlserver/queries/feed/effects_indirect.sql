-- sql/sqlserver/queries/feed/effects_indirect.sql: the documents that changed because these events changed the identity of what they refer to.
-- Binds: rows (JSON array of {change_version, document_id, transaction_id}; at most a horizon that was read before); looked (edges to look at
--   for an event, 1 or more); most (documents an event, 1 or more).
-- Gives: change_version, document_id of the event; affected_id, document_uuid, resource_key_id; total, how many there are of it among the
--   edges that were looked at. In DocumentId order. No row for an event that changed no identity.
-- Only what nobody else has written since: it refers to the document as it did then (an edge that comes stamps its parent, invariant 3). What
--   was written since has a later event of its own. What the event's own transaction wrote counts. Exact also where each row is read at a
--   moment of its own: a document is read after its edge.
-- An event whose document's identity has changed again since lists none: the later event lists them. So a document that is renamed many
--   times costs its references once, not once for each rename.
-- Plan: lookups in IdentityChangeEvent and Document; for a latest identity event one range of IX_ReferenceEdge_Child of `looked` entries, and
--   for each a lookup in Document and, where it is the newer one, in DocumentChangeEvent.
SET NOCOUNT ON;
DECLARE @rows nvarchar(max) = :rows, @looked bigint = :looked, @most bigint = :most;
DECLARE @edge TABLE (
    ChangeVersion    bigint NOT NULL,
    DocumentId       bigint NOT NULL,
    TransactionId    bigint NOT NULL,
    ParentDocumentId bigint NOT NULL,
    PRIMARY KEY (ChangeVersion, ParentDocumentId)
);
INSERT INTO @edge (ChangeVersion, DocumentId, TransactionId, ParentDocumentId)
SELECT wanted.change_version, wanted.document_id, wanted.transaction_id, edge.ParentDocumentId
FROM OPENJSON(@rows) WITH (
    change_version bigint '$.change_version', document_id bigint '$.document_id', transaction_id bigint '$.transaction_id') AS wanted
INNER JOIN dms.IdentityChangeEvent AS renamed
    ON renamed.ChangeVersion = wanted.change_version AND renamed.DocumentId = wanted.document_id
INNER JOIN dms.Document AS document ON document.DocumentId = wanted.document_id AND document.IdentityVersion = wanted.change_version
CROSS APPLY (
    SELECT TOP (@looked) ParentDocumentId FROM dms.ReferenceEdge
    WHERE ChildDocumentId = wanted.document_id AND ParentDocumentId <> wanted.document_id
    ORDER BY ChildDocumentId, ParentResourceKeyId, ParentDocumentId
) AS edge
OPTION (LOOP JOIN, FORCE ORDER);
SELECT placed.ChangeVersion AS change_version, placed.DocumentId AS document_id, placed.ParentDocumentId AS affected_id,
       placed.DocumentUuid AS document_uuid, placed.ResourceKeyId AS resource_key_id, placed.total
FROM (
    SELECT edge.ChangeVersion, edge.DocumentId, edge.ParentDocumentId, parent.DocumentUuid, parent.ResourceKeyId,
           ROW_NUMBER() OVER (PARTITION BY edge.ChangeVersion ORDER BY edge.ParentDocumentId) AS place,
           COUNT(*) OVER (PARTITION BY edge.ChangeVersion) AS total
    FROM @edge AS edge
    INNER JOIN dms.Document AS parent ON parent.DocumentId = edge.ParentDocumentId
    CROSS APPLY (SELECT CASE WHEN parent.ContentVersion > parent.IdentityVersion THEN parent.ContentVersion
                             ELSE parent.IdentityVersion END AS local) AS newest
    LEFT JOIN dms.DocumentChangeEvent AS own ON own.ChangeVersion = newest.local AND own.DocumentId = parent.DocumentId
    WHERE newest.local < edge.ChangeVersion OR own.TransactionId = edge.TransactionId
) AS placed
WHERE placed.place <= @most
ORDER BY placed.ChangeVersion, placed.DocumentId, placed.ParentDocumentId
OPTION (LOOP JOIN, FORCE ORDER);

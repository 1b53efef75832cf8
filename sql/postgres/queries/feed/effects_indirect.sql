-- sql/postgres/queries/feed/effects_indirect.sql: the documents that changed because these events changed the identity of what they refer to.
-- Binds: rows (JSON array of {change_version, document_id, transaction_id}; at most a horizon that was read before); looked (edges to look at
--   for an event, 1 or more); most (documents an event, 1 or more).
-- Gives: change_version, document_id of the event; affected_id, document_uuid, resource_key_id; total, how many there are of it among the
--   edges that were looked at. In DocumentId order. No row for an event that changed no identity.
-- Only what nobody else has written since: it refers to the document as it did then (an edge that comes stamps its parent, invariant 3). What
--   was written since has a later event of its own. What the event's own transaction wrote counts.
-- An event whose document's identity has changed again since lists none: the later event lists them. So a document that is renamed many
--   times costs its references once, not once for each rename.
-- Plan: lookups in IdentityChangeEvent and Document; for a latest identity event one range of IX_ReferenceEdge_Child of `looked` entries, and
--   for each a lookup in Document and, where it is the newer one, in DocumentChangeEvent.
WITH wanted AS MATERIALIZED (
    SELECT asked.change_version, asked.document_id, asked.transaction_id
    FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS asked (change_version bigint, document_id bigint, transaction_id bigint)
    CROSS JOIN LATERAL (
        SELECT FROM dms.IdentityChangeEvent
        WHERE ChangeVersion = asked.change_version AND DocumentId = asked.document_id OFFSET 0) AS renamed
    CROSS JOIN LATERAL (SELECT IdentityVersion FROM dms.Document WHERE DocumentId = asked.document_id OFFSET 0) AS document
    WHERE document.IdentityVersion = asked.change_version
)
SELECT wanted.change_version, wanted.document_id, affected.DocumentId AS affected_id, affected.DocumentUuid AS document_uuid,
       affected.ResourceKeyId AS resource_key_id, affected.total
FROM wanted
CROSS JOIN LATERAL (
    SELECT parent.*, row_number() OVER (ORDER BY parent.DocumentId) AS place, count(*) OVER () AS total
    FROM (SELECT ParentDocumentId FROM dms.ReferenceEdge
          WHERE ChildDocumentId = wanted.document_id AND ParentDocumentId <> wanted.document_id
          ORDER BY ChildDocumentId, ParentResourceKeyId, ParentDocumentId
          LIMIT CAST(:looked AS bigint)) AS edge
    CROSS JOIN LATERAL (
        SELECT DocumentId, DocumentUuid, ResourceKeyId, greatest(ContentVersion, IdentityVersion) AS local
        FROM dms.Document WHERE DocumentId = edge.ParentDocumentId OFFSET 0) AS parent
    LEFT JOIN LATERAL (
        SELECT TransactionId FROM dms.DocumentChangeEvent
        WHERE parent.local > wanted.change_version AND ChangeVersion = parent.local AND DocumentId = parent.DocumentId OFFSET 0) AS own ON true
    WHERE parent.local < wanted.change_version OR own.TransactionId = wanted.transaction_id
) AS affected
WHERE affected.place <= CAST(:most AS bigint)
ORDER BY wanted.change_version, wanted.document_id, affected.DocumentId

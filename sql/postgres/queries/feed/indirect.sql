-- sql/postgres/queries/feed/indirect.sql: the next documents that refer to what these identity changes changed, in (change_version, document_id) order.
-- Binds: rows (JSON array of {change_version, document_id, after_id}; at most a horizon that was read before; after_id exclusive, of the
--   documents that refer); looked (references to look at in all, 1 or more); with_key, with_body: whether to give keys and bodies.
-- Gives: one row a reference that was looked at: change_version, cause_id (the document that changed), document_id (the one that refers);
--   is_told, whether nobody has written it since: it refers to the other one as it did then (an edge that comes stamps its parent,
--   invariant 3), and has no later event of its own; resource_key_id, document_uuid, key_values, body.
-- Plan: for each identity change one range of IX_ReferenceEdge_Child a resource that may refer to it, each of `looked` entries at most; for
--   `looked` of them all a lookup in Document.
WITH wanted AS MATERIALIZED (
    SELECT change_version, document_id, after_id
    FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS listed (change_version bigint, document_id bigint, after_id bigint)
),
edge AS MATERIALIZED (
    SELECT wanted.change_version, wanted.document_id, referrer.ParentDocumentId
    FROM wanted
    CROSS JOIN LATERAL (SELECT ResourceKeyId FROM dms.Document WHERE DocumentId = wanted.document_id OFFSET 0) AS child
    CROSS JOIN LATERAL (
        SELECT ParentResourceKeyId FROM dms.ResourceDependency WHERE ChildResourceKeyId = child.ResourceKeyId OFFSET 0) AS dependency
    CROSS JOIN LATERAL (
        SELECT ParentDocumentId FROM dms.ReferenceEdge
        WHERE ChildDocumentId = wanted.document_id AND ParentResourceKeyId = dependency.ParentResourceKeyId
          AND ParentDocumentId > wanted.after_id
        ORDER BY ChildDocumentId, ParentResourceKeyId, ParentDocumentId
        LIMIT CAST(:looked AS bigint)
    ) AS referrer
    WHERE referrer.ParentDocumentId <> wanted.document_id
    ORDER BY wanted.change_version, referrer.ParentDocumentId, wanted.document_id
    LIMIT CAST(:looked AS bigint)
)
SELECT edge.change_version, edge.document_id AS cause_id, edge.ParentDocumentId AS document_id,
       CASE WHEN parent.local < edge.change_version THEN 1 ELSE 0 END AS is_told, parent.ResourceKeyId AS resource_key_id,
       parent.DocumentUuid AS document_uuid, CASE WHEN CAST(:with_key AS integer) = 1 THEN parent.KeyValues END AS key_values,
       body.DocumentJson AS body
FROM edge
LEFT JOIN LATERAL (
    SELECT ResourceKeyId, DocumentUuid, KeyValues, greatest(ContentVersion, IdentityVersion) AS local
    FROM dms.Document WHERE DocumentId = edge.ParentDocumentId OFFSET 0
) AS parent ON true
LEFT JOIN LATERAL (
    SELECT DocumentJson FROM dms.DocumentCache WHERE DocumentId = edge.ParentDocumentId OFFSET 0
) AS body ON CAST(:with_body AS integer) = 1 AND parent.local < edge.change_version
ORDER BY edge.change_version, edge.ParentDocumentId, edge.document_id

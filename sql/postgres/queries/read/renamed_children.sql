-- sql/postgres/queries/read/renamed_children.sql: of some documents, what they refer to that has another key now than their bodies may show.
-- Binds: document_ids (JSON array of ids, each once).
-- Gives: document_id, resource_name (the child's), old_key_values, new_key_values. The old key is the one at the stamp that the body was
--   written at (the later of ContentVersion and ComputedVersion); and one before it that nobody has any more, since a writer may have
--   read the child before the rename and have drawn its stamp after it. It is null where key changes were pruned since; so is only a
--   child given that is the document's only one of its resource.
-- Plan: a range of PK_ReferenceEdge for each document, and lookups in IX_KeyChangeEvent_Document for each child.
SELECT document.DocumentId AS document_id, resource.ResourceName AS resource_name,
       known.OldKeyValues AS old_key_values, child.KeyValues AS new_key_values
FROM jsonb_array_elements_text(CAST(:document_ids AS jsonb)) AS wanted (document_id)
CROSS JOIN LATERAL (
    SELECT DocumentId, ContentVersion FROM dms.Document WHERE DocumentId = CAST(wanted.document_id AS bigint) OFFSET 0) AS document
CROSS JOIN LATERAL (
    SELECT greatest(ComputedVersion, document.ContentVersion) AS version
    FROM dms.DocumentCache WHERE DocumentId = document.DocumentId OFFSET 0) AS body
CROSS JOIN LATERAL (
    SELECT ChildDocumentId FROM dms.ReferenceEdge
    WHERE ParentDocumentId = document.DocumentId AND ChildDocumentId <> ParentDocumentId OFFSET 0) AS edge
CROSS JOIN LATERAL (SELECT * FROM dms.Document WHERE DocumentId = edge.ChildDocumentId OFFSET 0) AS child
JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = child.ResourceKeyId
LEFT JOIN LATERAL (
    SELECT OldKeyValues FROM dms.KeyChangeEvent
    WHERE DocumentId = ANY (ARRAY[child.DocumentId]) AND DocumentUuid = child.DocumentUuid  -- of this lifetime; see change_page.sql
      AND ChangeVersion > body.version
    ORDER BY DocumentId, ChangeVersion LIMIT 1
) AS since ON true
LEFT JOIN LATERAL (
    SELECT OldKeyValues FROM dms.KeyChangeEvent
    WHERE DocumentId = ANY (ARRAY[child.DocumentId]) AND DocumentUuid = child.DocumentUuid AND ChangeVersion <= body.version
    ORDER BY DocumentId DESC, ChangeVersion DESC LIMIT 1
) AS before ON true
CROSS JOIN LATERAL (
    SELECT since.OldKeyValues WHERE since.OldKeyValues IS NOT NULL
    UNION ALL
    SELECT before.OldKeyValues
    WHERE CASE WHEN before.OldKeyValues IS NOT NULL THEN NOT EXISTS (  -- CASE: no join of all rows, and not asked for nothing
        SELECT FROM dms.Document AS living
        WHERE living.ResourceKeyId = child.ResourceKeyId
          AND jsonb_hash_extended(living.KeyValues, 0) = jsonb_hash_extended(before.OldKeyValues, 0)
          AND living.KeyValues = before.OldKeyValues) ELSE false END
    UNION ALL
    SELECT NULL
    WHERE CASE WHEN child.IdentityVersion > body.version
                AND body.version < (SELECT ChangeVersion FROM dms.JournalFloor WHERE Journal = 'KeyChangeEvent')
      THEN NOT EXISTS (
          SELECT FROM dms.ReferenceEdge AS other
          CROSS JOIN LATERAL (
              SELECT ResourceKeyId FROM dms.Document WHERE DocumentId = other.ChildDocumentId OFFSET 0) AS sibling
          WHERE other.ParentDocumentId = document.DocumentId AND other.ChildDocumentId <> child.DocumentId
            AND sibling.ResourceKeyId = child.ResourceKeyId) ELSE false END
) AS known
WHERE child.KeyValues IS NOT NULL AND known.OldKeyValues IS DISTINCT FROM child.KeyValues
ORDER BY document.DocumentId, child.DocumentId

-- sql/sqlserver/queries/read/renamed_children.sql: of some documents, what they refer to that has another key now than their bodies may show.
-- Binds: document_ids (JSON array of ids, each once).
-- Gives: document_id, resource_name (the child's), old_key_values, new_key_values. The old key is the one at the stamp that the body was
--   written at (the later of ContentVersion and ComputedVersion); and one before it that nobody has any more, since a writer may have
--   read the child before the rename and have drawn its stamp after it. It is null where key changes were pruned since; so is only a
--   child given that is the document's only one of its resource.
-- Plan: a range of PK_ReferenceEdge for each document, and lookups in IX_KeyChangeEvent_Document for each child.
SET NOCOUNT ON;
DECLARE @document_ids nvarchar(max) = :document_ids, @floor bigint;
SELECT @floor = ChangeVersion FROM dms.JournalFloor WHERE Journal = N'KeyChangeEvent';
DECLARE @wanted TABLE (DocumentId bigint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (DocumentId) SELECT DISTINCT CAST(value AS bigint) FROM OPENJSON(@document_ids);
SELECT document.DocumentId AS document_id, resource.ResourceName AS resource_name,
       known.OldKeyValues AS old_key_values, child.KeyValues AS new_key_values
FROM @wanted AS wanted
INNER JOIN dms.Document AS document ON document.DocumentId = wanted.DocumentId
INNER JOIN dms.DocumentCache AS cache ON cache.DocumentId = document.DocumentId
CROSS APPLY (
    SELECT CASE WHEN cache.ComputedVersion > document.ContentVersion THEN cache.ComputedVersion ELSE document.ContentVersion END AS version
) AS body
INNER JOIN dms.ReferenceEdge AS edge
    ON edge.ParentDocumentId = document.DocumentId AND edge.ChildDocumentId <> document.DocumentId
INNER JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
INNER JOIN dms.ResourceKey AS resource ON resource.ResourceKeyId = child.ResourceKeyId
OUTER APPLY (
    SELECT TOP (1) OldKeyValues
    FROM dms.KeyChangeEvent WITH (INDEX (IX_KeyChangeEvent_Document), FORCESEEK)
    WHERE DocumentId = child.DocumentId AND DocumentUuid = child.DocumentUuid AND ChangeVersion > body.version  -- of this lifetime
    ORDER BY ChangeVersion
) AS since
OUTER APPLY (
    SELECT TOP (1) OldKeyValues
    FROM dms.KeyChangeEvent WITH (INDEX (IX_KeyChangeEvent_Document), FORCESEEK)
    WHERE DocumentId = child.DocumentId AND DocumentUuid = child.DocumentUuid AND ChangeVersion <= body.version
    ORDER BY ChangeVersion DESC
) AS before
CROSS APPLY (
    SELECT since.OldKeyValues WHERE since.OldKeyValues IS NOT NULL
    UNION ALL
    SELECT before.OldKeyValues
    WHERE before.OldKeyValues IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM dms.Document AS living
        WHERE living.ResourceKeyId = child.ResourceKeyId
          AND living.KeyValuesHash = CAST(HASHBYTES('SHA2_256', before.OldKeyValues) AS binary(32))
          AND living.KeyValues = before.OldKeyValues)
    UNION ALL
    SELECT CAST(NULL AS nvarchar(max))
    WHERE child.IdentityVersion > body.version AND body.version < @floor
      AND NOT EXISTS (
          SELECT 1 FROM dms.ReferenceEdge AS other INNER JOIN dms.Document AS sibling ON sibling.DocumentId = other.ChildDocumentId
          WHERE other.ParentDocumentId = document.DocumentId AND other.ChildDocumentId <> child.DocumentId
            AND sibling.ResourceKeyId = child.ResourceKeyId)
) AS known
WHERE child.KeyValues IS NOT NULL AND (known.OldKeyValues IS NULL OR known.OldKeyValues <> child.KeyValues)
ORDER BY document.DocumentId, child.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql

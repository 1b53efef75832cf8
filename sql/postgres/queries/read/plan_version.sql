-- sql/postgres/queries/read/plan_version.sql: marks among the documents that dms.ResourceChange looks at at one version, by DocumentId.
-- Binds: resource_key_ids (JSON array, each once); version; step (1 or more). Gives: each step-th document, and the last: (number, document_id),
--   the number from 1. None where there are none.
-- Plan: a range of one version in a journal and of one child in IX_ReferenceEdge_Child: it reads the documents of that version, once.
WITH wanted AS MATERIALIZED (
    SELECT CAST(value AS smallint) AS ResourceKeyId FROM jsonb_array_elements_text(CAST(:resource_key_ids AS jsonb))
),
documents AS (
    SELECT DocumentId FROM dms.DocumentChangeEvent
    WHERE ChangeVersion = CAST(:version AS bigint) AND ResourceKeyId IN (SELECT ResourceKeyId FROM wanted)
    UNION ALL
    SELECT edge.ParentDocumentId
    FROM dms.IdentityChangeEvent AS event
    JOIN dms.Document AS child ON child.DocumentId = event.DocumentId AND child.IdentityVersion = event.ChangeVersion
    JOIN dms.ReferenceEdge AS edge ON edge.ChildDocumentId = event.DocumentId
    WHERE event.ChangeVersion = CAST(:version AS bigint) AND edge.ParentResourceKeyId IN (SELECT ResourceKeyId FROM wanted)
),
numbered AS (
    SELECT DocumentId, row_number() OVER (ORDER BY DocumentId) AS number, lead(DocumentId) OVER (ORDER BY DocumentId) IS NULL AS is_last
    FROM documents
)
SELECT number, DocumentId AS document_id
FROM numbered
WHERE mod(number, CAST(:step AS bigint)) = 0 OR is_last
ORDER BY number

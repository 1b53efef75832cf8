-- sql/postgres/queries/read/nth_document.sql: the n-th live document of some resources from an id on, by id; no row where there are fewer.
-- Binds: resource_key_ids (JSON array, each once); is_everything (1: of all resources, whatever the array has; else 0); from_id (inclusive); number
--   (1 or more). Gives: document_id.
-- Plan: a range of the primary key, or of IX_Document_ResourceKeyId for each of the resources; up to `number` entries of each.
SELECT document.DocumentId AS document_id
FROM (
    (SELECT DocumentId FROM dms.Document
     WHERE CAST(:is_everything AS integer) = 1 AND DocumentId >= CAST(:from_id AS bigint)
     ORDER BY DocumentId
     LIMIT CAST(:number AS bigint))
    UNION ALL
    (SELECT listed.DocumentId
     FROM jsonb_array_elements_text(CAST(:resource_key_ids AS jsonb)) AS wanted (ResourceKeyId)
     CROSS JOIN LATERAL (
         SELECT DocumentId FROM dms.Document
         WHERE ResourceKeyId = ANY (ARRAY[CAST(wanted.ResourceKeyId AS smallint)])  -- see change_page.sql
           AND CAST(:is_everything AS integer) = 0 AND DocumentId >= CAST(:from_id AS bigint)
         ORDER BY ResourceKeyId, DocumentId
         LIMIT CAST(:number AS bigint)
     ) AS listed)
) AS document
ORDER BY document.DocumentId
OFFSET CAST(:number AS bigint) - 1
LIMIT 1

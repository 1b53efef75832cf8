-- benchmarks/sql/published/page.sql: the published change query: every candidate of the window is derived, on each page, then one page is cut.
-- Parents are told by ParentResourceKeyId, the faster of the two forms that the description gives.
-- Binds: resource_key_id; min_version, max_version (inclusive); after_version, after_id (exclusive); page_size (rows; null is all).
WITH candidates AS (
    SELECT DocumentId FROM published.DocumentChangeEvent
    WHERE ResourceKeyId = :resource_key_id AND ChangeVersion BETWEEN :min_version AND :max_version
    UNION
    SELECT edge.ParentDocumentId
    FROM published.IdentityChangeEvent AS event
    JOIN published.ReferenceEdge AS edge ON edge.ChildDocumentId = event.DocumentId
    WHERE event.ChangeVersion BETWEEN :min_version AND :max_version AND edge.ParentResourceKeyId = :resource_key_id
), newest_child AS (
    SELECT edge.ParentDocumentId AS DocumentId, max(child.IdentityVersion) AS IdentityVersion
    FROM candidates
    JOIN published.ReferenceEdge AS edge ON edge.ParentDocumentId = candidates.DocumentId
    JOIN published.Document AS child ON child.DocumentId = edge.ChildDocumentId
    GROUP BY edge.ParentDocumentId
), derived AS (
    SELECT greatest(document.ContentVersion, document.IdentityVersion, newest_child.IdentityVersion) AS ChangeVersion,
           document.DocumentId, document.DocumentUuid
    FROM candidates
    JOIN published.Document AS document ON document.DocumentId = candidates.DocumentId
    LEFT JOIN newest_child ON newest_child.DocumentId = document.DocumentId
)
SELECT ChangeVersion, DocumentId, DocumentUuid FROM derived
WHERE ChangeVersion BETWEEN :min_version AND :max_version
  AND (ChangeVersion > :after_version OR (ChangeVersion = :after_version AND DocumentId > :after_id))
ORDER BY ChangeVersion, DocumentId LIMIT :page_size

-- sql/postgres/queries/read/snapshot_page.sql: the next documents of one resource after an id, each at its derived version as of now.
-- Binds: resource_key_id; after_id (exclusive); page_size (documents). Gives: document_id, document_uuid, change_version; by id.
-- Plan: a range of IX_Document_ResourceKeyId, and lookups of each document's children by key; see change_page.sql.
SELECT document.DocumentId AS document_id, document.DocumentUuid AS document_uuid,
       greatest(document.local, (
           SELECT max(child.IdentityVersion)
           FROM dms.ReferenceEdge AS edge
           CROSS JOIN LATERAL (SELECT IdentityVersion FROM dms.Document WHERE DocumentId = edge.ChildDocumentId OFFSET 0) AS child
           WHERE edge.ParentDocumentId = document.DocumentId)) AS change_version
FROM (
    SELECT DocumentId, DocumentUuid, greatest(ContentVersion, IdentityVersion) AS local
    FROM dms.Document
    WHERE ResourceKeyId = ANY (ARRAY[CAST(:resource_key_id AS smallint)]) AND DocumentId > CAST(:after_id AS bigint)
    ORDER BY ResourceKeyId, DocumentId
    LIMIT CAST(:page_size AS bigint)
) AS document
ORDER BY document.DocumentId

-- sql/sqlserver/queries/read/snapshot_page.sql: the next documents of one resource after an id, each at its derived version as of now.
-- Binds: resource_key_id; after_id (exclusive); page_size (documents). Gives: document_id, document_uuid, change_version; by id.
-- Plan: a range of IX_Document_ResourceKeyId, and lookups of each document's children by key; see change_page.sql. A document's own stamp
-- is read last: an edge that goes meanwhile stamps it.
SET NOCOUNT ON;
DECLARE @resource_key_id smallint = :resource_key_id, @after_id bigint = :after_id, @page_size bigint = :page_size;
DECLARE @page TABLE (DocumentId bigint NOT NULL PRIMARY KEY, NewestChild bigint NULL);
INSERT INTO @page (DocumentId, NewestChild)
SELECT listed.DocumentId, newest.IdentityVersion
FROM (
    SELECT TOP (@page_size) DocumentId
    FROM dms.Document WITH (INDEX (IX_Document_ResourceKeyId), FORCESEEK)
    WHERE ResourceKeyId = @resource_key_id AND DocumentId > @after_id
    ORDER BY DocumentId
) AS listed
OUTER APPLY (
    SELECT MAX(child.IdentityVersion) AS IdentityVersion
    FROM dms.ReferenceEdge AS edge INNER JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
    WHERE edge.ParentDocumentId = listed.DocumentId
) AS newest
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql
SELECT document.DocumentId AS document_id, document.DocumentUuid AS document_uuid,
       CASE WHEN page.NewestChild > document.ContentVersion AND page.NewestChild > document.IdentityVersion THEN page.NewestChild
            WHEN document.ContentVersion > document.IdentityVersion THEN document.ContentVersion
            ELSE document.IdentityVersion END AS change_version
FROM @page AS page INNER JOIN dms.Document AS document ON document.DocumentId = page.DocumentId
ORDER BY document.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql

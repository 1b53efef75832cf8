-- sql/sqlserver/queries/read/snapshot_page.sql: the next documents of one resource after an id, each at its derived version as of now.
-- Binds: resource_key_id; after_id (exclusive); page_size (documents). Gives: document_id, document_uuid, change_version; by id.
-- Plan: a range of IX_Document_ResourceKeyId, and lookups of each document's children by key; see change_page.sql. A document's own stamp
-- is read last: an edge that goes meanwhile stamps it. A document that is deleted meanwhile is given as it was read first: a page is
-- shorter than page_size at the end of the documents only, since that is how readers know the end.
SET NOCOUNT ON;
DECLARE @resource_key_id smallint = :resource_key_id, @after_id bigint = :after_id, @page_size bigint = :page_size;
DECLARE @page TABLE (
    DocumentId      bigint           NOT NULL PRIMARY KEY,
    DocumentUuid    uniqueidentifier NOT NULL,
    ContentVersion  bigint           NOT NULL,
    IdentityVersion bigint           NOT NULL,
    NewestChild     bigint           NULL
);
INSERT INTO @page (DocumentId, DocumentUuid, ContentVersion, IdentityVersion, NewestChild)
SELECT listed.DocumentId, listed.DocumentUuid, listed.ContentVersion, listed.IdentityVersion, newest.IdentityVersion
FROM (
    SELECT TOP (@page_size) DocumentId, DocumentUuid, ContentVersion, IdentityVersion
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
SELECT page.DocumentId AS document_id, page.DocumentUuid AS document_uuid,
       CASE WHEN page.NewestChild > stamps.ContentVersion AND page.NewestChild > stamps.IdentityVersion THEN page.NewestChild
            WHEN stamps.ContentVersion > stamps.IdentityVersion THEN stamps.ContentVersion
            ELSE stamps.IdentityVersion END AS change_version
FROM @page AS page
LEFT JOIN dms.Document AS document ON document.DocumentId = page.DocumentId
CROSS APPLY (
    SELECT COALESCE(document.ContentVersion, page.ContentVersion) AS ContentVersion,
           COALESCE(document.IdentityVersion, page.IdentityVersion) AS IdentityVersion
) AS stamps
ORDER BY page.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql

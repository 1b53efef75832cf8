-- sql/sqlserver/queries/read/change_page_stored.sql: change_page.sql where option max_dep_identity_version keeps each document's newest child.
-- Binds: as change_page.sql has them. Gives: the same columns, and `is_exact` before them: 0 where the column is not exact yet; then there
--   are no changes, and change_page.sql is to be asked.
-- Plan: two ranges, of the resource's own events and of IX_Document_MaxDepIdentityVersion, and a lookup by key of each document on the page.
--   (An index on the greatest of three columns would be on a computed one, which refuses every writer with QUOTED_IDENTIFIER OFF.)
-- Written as change_page.sql tells; exact in any isolation level, as it is: a document is read last.
SET NOCOUNT ON;
DECLARE @resource_key_id smallint = :resource_key_id, @after_version bigint = :after_version, @after_id bigint = :after_id,
        @max_version bigint = :max_version, @page_size bigint = :page_size;
DECLARE @own bigint = 0, @inherited bigint = 0, @is_exact bit = 0, @scanned_version bigint, @scanned_id bigint,
        @last_version bigint, @last_id bigint;
DECLARE @contribution TABLE (ChangeVersion bigint NOT NULL, DocumentId bigint NOT NULL, IsOwn bit NOT NULL, PRIMARY KEY (ChangeVersion, DocumentId, IsOwn));
IF NOT EXISTS (SELECT * FROM dms.MaxDepIdentityPending)
BEGIN
    SET @is_exact = 1;
    INSERT INTO @contribution (ChangeVersion, DocumentId, IsOwn)
    SELECT TOP (@page_size) ChangeVersion, DocumentId, 1
    FROM dms.DocumentChangeEvent WITH (INDEX (IX_DocumentChangeEvent_Resource), FORCESEEK)
    WHERE ResourceKeyId = @resource_key_id
      AND ChangeVersion >= @after_version AND (ChangeVersion > @after_version OR DocumentId > @after_id)
      AND ChangeVersion <= @max_version
    ORDER BY ChangeVersion, DocumentId;
    SET @own = @@ROWCOUNT;
    INSERT INTO @contribution (ChangeVersion, DocumentId, IsOwn)
    SELECT TOP (@page_size) MaxDepIdentityVersion, DocumentId, 0
    FROM dms.Document WITH (INDEX (IX_Document_MaxDepIdentityVersion), FORCESEEK)
    WHERE ResourceKeyId = @resource_key_id
      AND MaxDepIdentityVersion >= @after_version AND (MaxDepIdentityVersion > @after_version OR DocumentId > @after_id)
      AND MaxDepIdentityVersion <= @max_version
    ORDER BY MaxDepIdentityVersion, DocumentId;
    SET @inherited = @@ROWCOUNT;
END;

SELECT TOP (1) @scanned_version = ends.ChangeVersion, @scanned_id = ends.DocumentId  -- how far each was scanned, where not to its end
FROM (
    SELECT own.ChangeVersion, own.DocumentId
    FROM (SELECT TOP (1) ChangeVersion, DocumentId FROM @contribution WHERE IsOwn = 1 ORDER BY ChangeVersion DESC, DocumentId DESC) AS own
    WHERE @own = @page_size
    UNION ALL
    SELECT inherited.ChangeVersion, inherited.DocumentId
    FROM (SELECT TOP (1) ChangeVersion, DocumentId FROM @contribution WHERE IsOwn = 0 ORDER BY ChangeVersion DESC, DocumentId DESC) AS inherited
    WHERE @inherited = @page_size
) AS ends
ORDER BY ends.ChangeVersion, ends.DocumentId;
DELETE FROM @contribution
WHERE ChangeVersion > @scanned_version OR (ChangeVersion = @scanned_version AND DocumentId > @scanned_id);

SELECT @last_version = numbered.ChangeVersion, @last_id = numbered.DocumentId  -- a full page was scanned to its last contribution
FROM (SELECT ChangeVersion, DocumentId, ROW_NUMBER() OVER (ORDER BY ChangeVersion, DocumentId) AS number FROM @contribution) AS numbered
WHERE numbered.number = @page_size;
IF @last_version IS NOT NULL
BEGIN
    SELECT @scanned_version = @last_version, @scanned_id = @last_id;
    DELETE FROM @contribution WHERE ChangeVersion > @last_version OR (ChangeVersion = @last_version AND DocumentId > @last_id);
END;

SELECT @is_exact AS is_exact, floors.floor, @scanned_version AS scanned_version, @scanned_id AS scanned_id,
       change.ChangeVersion AS change_version, change.DocumentId AS document_id, change.DocumentUuid AS document_uuid
FROM (SELECT MAX(ChangeVersion) AS floor FROM dms.JournalFloor
      WHERE Journal IN (N'DocumentChangeEvent', N'IdentityChangeEvent') HAVING COUNT(*) = 2) AS floors  -- no row where one is lost
LEFT JOIN (
    SELECT contribution.ChangeVersion, contribution.DocumentId, document.DocumentUuid
    FROM @contribution AS contribution INNER JOIN dms.Document AS document ON document.DocumentId = contribution.DocumentId
    WHERE (contribution.IsOwn = 1 AND document.MaxDepIdentityVersion <= contribution.ChangeVersion AND contribution.ChangeVersion =
               CASE WHEN document.ContentVersion > document.IdentityVersion THEN document.ContentVersion ELSE document.IdentityVersion END)
       OR (contribution.IsOwn = 0 AND document.MaxDepIdentityVersion = contribution.ChangeVersion
           AND document.ContentVersion < contribution.ChangeVersion AND document.IdentityVersion < contribution.ChangeVersion)
) AS change ON 1 = 1
ORDER BY change.ChangeVersion, change.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);

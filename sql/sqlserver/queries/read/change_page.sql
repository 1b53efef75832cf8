-- sql/sqlserver/queries/read/change_page.sql: the next changes of one resource after a cursor, in (ChangeVersion, DocumentId) order.
-- Binds: resource_key_id; after_version, after_id (exclusive); max_version (inclusive, at most a horizon that was read before);
--   page_size (contributions to scan, 1 or more).
-- Gives: one row a change, and one row at least. Every row has `floor`, the higher floor of the two journals, and (scanned_version,
--   scanned_id), the last position that was scanned, null at the end of the window. Contributions that a later change has
--   overtaken are scanned and left out, so fewer changes than page_size do not mean the end.
-- An identity event that is not its child's latest is scanned and not expanded: each of its parents has a newer child.
-- Plan: ranges of (ResourceKeyId, ChangeVersion, DocumentId) of both journals and of IX_ReferenceEdge_Child, and lookups by key. What
--   it reads depends on page_size, never on the window. The indexes are named, since the clustered key (ChangeVersion, DocumentId) has the
--   same order: walked instead, it filters other resources' events for as long as they last (seen on PostgreSQL). Row comparison is spelt
--   out so that it seeks. The lookups are loops from the page outwards (LOOP JOIN, FORCE ORDER): a join that was planned for another
--   page size would scan the documents.
-- Exact in any isolation level, also where each statement and each row is read at a time of its own (plain READ COMMITTED): whatever
--   changes meanwhile stamps its document above the horizon, and the document's own stamp is read last. The floors are read after the
--   journals, in a statement that reads none of them: what a prune has taken from under the page, they tell (see deletes.sql).
SET NOCOUNT ON;
DECLARE @resource_key_id smallint = :resource_key_id, @after_version bigint = :after_version, @after_id bigint = :after_id,
        @max_version bigint = :max_version, @page_size bigint = :page_size;
DECLARE @lowest_id bigint = CAST(-9223372036854775808 AS bigint), @reach bigint = @max_version,
        @own bigint, @identities bigint, @inherited bigint, @scanned_version bigint, @scanned_id bigint, @last_version bigint, @last_id bigint;
DECLARE @contribution TABLE (ChangeVersion bigint NOT NULL, DocumentId bigint NOT NULL, IsOwn bit NOT NULL, PRIMARY KEY (ChangeVersion, DocumentId));
DECLARE @identity TABLE (ChangeVersion bigint NOT NULL, DocumentId bigint NOT NULL, PRIMARY KEY (ChangeVersion, DocumentId));
DECLARE @dependency TABLE (ResourceKeyId smallint NOT NULL PRIMARY KEY);
DECLARE @candidate TABLE (ChangeVersion bigint NOT NULL, DocumentId bigint NOT NULL, IsOwn bit NOT NULL, PRIMARY KEY (ChangeVersion, DocumentId));

INSERT INTO @contribution (ChangeVersion, DocumentId, IsOwn)  -- the resource's own events
SELECT TOP (@page_size) ChangeVersion, DocumentId, 1
FROM dms.DocumentChangeEvent WITH (INDEX (IX_DocumentChangeEvent_Resource), FORCESEEK)
WHERE ResourceKeyId = @resource_key_id
  AND ChangeVersion >= @after_version AND (ChangeVersion > @after_version OR DocumentId > @after_id)
  AND ChangeVersion <= @max_version
ORDER BY ChangeVersion, DocumentId;
SET @own = @@ROWCOUNT;
IF @own = @page_size  -- a page that its own events fill ends with them: identity events after those are not looked at
    SELECT @reach = MAX(ChangeVersion) FROM @contribution;

INSERT INTO @dependency (ResourceKeyId)
SELECT TOP (65) ChildResourceKeyId FROM dms.ResourceDependency WHERE ParentResourceKeyId = @resource_key_id;
IF (SELECT COUNT(*) FROM @dependency) > 64  -- of one that refers to more, the identity events of all are scanned: no seek for each
    INSERT INTO @identity (ChangeVersion, DocumentId)
    SELECT TOP (@page_size) ChangeVersion, DocumentId
    FROM dms.IdentityChangeEvent WITH (INDEX (PK_IdentityChangeEvent), FORCESEEK)
    WHERE ChangeVersion >= @after_version AND ChangeVersion <= @reach
    ORDER BY ChangeVersion, DocumentId;
IF (SELECT COUNT(*) FROM @dependency) <= 64
    INSERT INTO @identity (ChangeVersion, DocumentId)  -- of the resources that it refers to, the cursor's own version included
    SELECT TOP (@page_size) event.ChangeVersion, event.DocumentId
    FROM @dependency AS dependency
    CROSS APPLY (
        SELECT TOP (@page_size) ChangeVersion, DocumentId
        FROM dms.IdentityChangeEvent WITH (INDEX (IX_IdentityChangeEvent_Resource), FORCESEEK)
        WHERE ResourceKeyId = dependency.ResourceKeyId AND ChangeVersion >= @after_version AND ChangeVersion <= @reach
        ORDER BY ChangeVersion, DocumentId
    ) AS event
    ORDER BY event.ChangeVersion;
SELECT @identities = COUNT(*) FROM @identity;

INSERT INTO @contribution (ChangeVersion, DocumentId, IsOwn)  -- each that is its child's latest, expanded to its parents of the resource
SELECT TOP (@page_size) event.ChangeVersion, parent.DocumentId, 0
FROM @identity AS event
INNER JOIN dms.Document AS child ON child.DocumentId = event.DocumentId AND child.IdentityVersion = event.ChangeVersion
CROSS APPLY (
    SELECT TOP (@page_size) ParentDocumentId AS DocumentId
    FROM dms.ReferenceEdge WITH (INDEX (IX_ReferenceEdge_Child), FORCESEEK)
    WHERE ChildDocumentId = event.DocumentId AND ParentResourceKeyId = @resource_key_id
      AND ParentDocumentId > CASE WHEN event.ChangeVersion = @after_version THEN @after_id ELSE @lowest_id END
      AND ParentDocumentId <> event.DocumentId
    ORDER BY ParentDocumentId
) AS parent
ORDER BY event.ChangeVersion, parent.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);
SET @inherited = @@ROWCOUNT;

SELECT TOP (1) @scanned_version = ends.ChangeVersion, @scanned_id = ends.DocumentId  -- how far each was scanned, where not to its end
FROM (
    SELECT own.ChangeVersion, own.DocumentId
    FROM (SELECT TOP (1) ChangeVersion, DocumentId FROM @contribution WHERE IsOwn = 1 ORDER BY ChangeVersion DESC, DocumentId DESC) AS own
    WHERE @own = @page_size
    UNION ALL
    SELECT inherited.ChangeVersion, inherited.DocumentId
    FROM (SELECT TOP (1) ChangeVersion, DocumentId FROM @contribution WHERE IsOwn = 0 ORDER BY ChangeVersion DESC, DocumentId DESC) AS inherited
    WHERE @inherited = @page_size
    UNION ALL
    SELECT last_identity.ChangeVersion + 1, @lowest_id  -- that event's parents are all in: the next event's are not
    FROM (SELECT MAX(ChangeVersion) AS ChangeVersion FROM @identity) AS last_identity
    WHERE @identities = @page_size AND last_identity.ChangeVersion < @reach
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

INSERT INTO @candidate (ChangeVersion, DocumentId, IsOwn)  -- a document's last one in the page: its children are looked at once
SELECT numbered.ChangeVersion, numbered.DocumentId, numbered.IsOwn
FROM (
    SELECT contribution.ChangeVersion, contribution.DocumentId, contribution.IsOwn,
           ROW_NUMBER() OVER (PARTITION BY contribution.DocumentId ORDER BY contribution.ChangeVersion DESC) AS number
    FROM @contribution AS contribution INNER JOIN dms.Document AS document ON document.DocumentId = contribution.DocumentId
    WHERE (contribution.IsOwn = 1 AND contribution.ChangeVersion =
               CASE WHEN document.ContentVersion > document.IdentityVersion THEN document.ContentVersion ELSE document.IdentityVersion END)
       OR (contribution.IsOwn = 0 AND document.ContentVersion < contribution.ChangeVersion AND document.IdentityVersion < contribution.ChangeVersion)
) AS numbered
WHERE numbered.number = 1
OPTION (LOOP JOIN, FORCE ORDER);
DELETE contribution  -- a child is newer
FROM @candidate AS contribution
WHERE EXISTS (
    SELECT * FROM dms.ReferenceEdge AS edge INNER JOIN dms.Document AS child ON child.DocumentId = edge.ChildDocumentId
    WHERE edge.ParentDocumentId = contribution.DocumentId AND child.IdentityVersion > contribution.ChangeVersion)
OPTION (LOOP JOIN, FORCE ORDER);

SELECT floors.floor, @scanned_version AS scanned_version, @scanned_id AS scanned_id,
       change.ChangeVersion AS change_version, change.DocumentId AS document_id, change.DocumentUuid AS document_uuid
FROM (SELECT MAX(ChangeVersion) AS floor FROM dms.JournalFloor
      WHERE Journal IN (N'DocumentChangeEvent', N'IdentityChangeEvent') HAVING COUNT(*) = 2) AS floors  -- no row where one is lost
LEFT JOIN (
    SELECT contribution.ChangeVersion, contribution.DocumentId, document.DocumentUuid
    FROM @candidate AS contribution INNER JOIN dms.Document AS document ON document.DocumentId = contribution.DocumentId
    WHERE (contribution.IsOwn = 1 AND contribution.ChangeVersion =
               CASE WHEN document.ContentVersion > document.IdentityVersion THEN document.ContentVersion ELSE document.IdentityVersion END)
       OR (contribution.IsOwn = 0 AND document.ContentVersion < contribution.ChangeVersion AND document.IdentityVersion < contribution.ChangeVersion)
) AS change ON 1 = 1
ORDER BY change.ChangeVersion, change.DocumentId
OPTION (LOOP JOIN, FORCE ORDER);

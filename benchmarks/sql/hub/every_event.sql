-- benchmarks/sql/hub/every_event.sql: the page as it was while each identity event was expanded to its child's parents, overtaken or not, and
-- each contribution was held against its document's children. Binds and columns: sql/postgres/queries/read/change_page.sql.
WITH own AS MATERIALIZED (  -- the resource's own events
    SELECT ChangeVersion, DocumentId
    FROM dms.DocumentChangeEvent
    WHERE ResourceKeyId = ANY (ARRAY[CAST(:resource_key_id AS smallint)])
      AND (ChangeVersion, DocumentId) > (CAST(:after_version AS bigint), CAST(:after_id AS bigint))
      AND ChangeVersion >= CAST(:after_version AS bigint)  -- the same bound for partitions, which no row comparison rules out
      AND ChangeVersion <= CAST(:max_version AS bigint)
    ORDER BY ResourceKeyId, ChangeVersion, DocumentId
    LIMIT CAST(:page_size AS bigint)
),
reach AS MATERIALIZED (  -- a page that its own events fill ends with them: identity events after those are not looked at
    SELECT coalesce(
        (SELECT ChangeVersion FROM own ORDER BY ChangeVersion, DocumentId OFFSET CAST(:page_size AS bigint) - 1),
        CAST(:max_version AS bigint)) AS version
),
identities AS MATERIALIZED (  -- identity events of the resources that it refers to, the cursor's own version included
    SELECT i.ChangeVersion, i.DocumentId
    FROM dms.ResourceDependency AS dependency
    CROSS JOIN LATERAL (
        SELECT ChangeVersion, DocumentId
        FROM dms.IdentityChangeEvent
        WHERE ResourceKeyId = ANY (ARRAY[dependency.ChildResourceKeyId])
          AND ChangeVersion >= CAST(:after_version AS bigint) AND ChangeVersion <= (SELECT version FROM reach)
        ORDER BY ResourceKeyId, ChangeVersion, DocumentId
        LIMIT CAST(:page_size AS bigint)
    ) AS i
    WHERE dependency.ParentResourceKeyId = CAST(:resource_key_id AS smallint)
    ORDER BY i.ChangeVersion
    LIMIT CAST(:page_size AS bigint)
),
inherited AS MATERIALIZED (  -- each expanded to its parents of the resource; an event's stamp is its own, so versions never tie
    SELECT i.ChangeVersion, parent.DocumentId
    FROM (SELECT ChangeVersion, DocumentId FROM identities ORDER BY ChangeVersion) AS i
    CROSS JOIN LATERAL (
        SELECT ParentDocumentId AS DocumentId
        FROM dms.ReferenceEdge
        WHERE ChildDocumentId = ANY (ARRAY[i.DocumentId]) AND ParentResourceKeyId = CAST(:resource_key_id AS smallint)
          AND ParentDocumentId > CASE WHEN i.ChangeVersion = CAST(:after_version AS bigint)
                                      THEN CAST(:after_id AS bigint) ELSE -9223372036854775808 END
          AND ParentDocumentId <> i.DocumentId
        ORDER BY ChildDocumentId, ParentDocumentId
        LIMIT CAST(:page_size AS bigint)
    ) AS parent
    ORDER BY i.ChangeVersion, parent.DocumentId
    LIMIT CAST(:page_size AS bigint)
),
ends AS (  -- how far each source was scanned, where it was not exhausted
    (SELECT ChangeVersion, DocumentId FROM own ORDER BY ChangeVersion, DocumentId OFFSET CAST(:page_size AS bigint) - 1)
    UNION ALL
    (SELECT ChangeVersion, DocumentId FROM inherited ORDER BY ChangeVersion, DocumentId OFFSET CAST(:page_size AS bigint) - 1)
    UNION ALL
    (SELECT ChangeVersion + 1, -9223372036854775808  -- that event's parents are all in: the next event's are not
     FROM (SELECT ChangeVersion FROM identities ORDER BY ChangeVersion OFFSET CAST(:page_size AS bigint) - 1) AS last_identity
     WHERE ChangeVersion < (SELECT version FROM reach))
),
scanned AS MATERIALIZED (
    SELECT ChangeVersion, DocumentId FROM ends ORDER BY ChangeVersion, DocumentId LIMIT 1
),
contributions AS MATERIALIZED (
    SELECT ChangeVersion, DocumentId, is_own
    FROM (SELECT ChangeVersion, DocumentId, true AS is_own FROM own
          UNION ALL SELECT ChangeVersion, DocumentId, false FROM inherited) AS both_sources
    WHERE NOT EXISTS (
        SELECT FROM scanned
        WHERE (both_sources.ChangeVersion, both_sources.DocumentId) > (scanned.ChangeVersion, scanned.DocumentId))
    ORDER BY ChangeVersion, DocumentId
    LIMIT CAST(:page_size AS bigint)
),
position AS (  -- a full page was scanned to its last contribution, else to where the first source stopped
    SELECT ChangeVersion, DocumentId
    FROM ((SELECT ChangeVersion, DocumentId FROM contributions ORDER BY ChangeVersion, DocumentId OFFSET CAST(:page_size AS bigint) - 1)
          UNION ALL SELECT ChangeVersion, DocumentId FROM scanned) AS candidates
    ORDER BY ChangeVersion, DocumentId
    LIMIT 1
),
changes AS (  -- the contributions that are their document's derived version: nothing newer of its own, nor of a child
    SELECT contribution.ChangeVersion, contribution.DocumentId, document.DocumentUuid
    FROM contributions AS contribution
    CROSS JOIN LATERAL (
        SELECT DocumentUuid, greatest(ContentVersion, IdentityVersion) AS local
        FROM dms.Document
        WHERE DocumentId = contribution.DocumentId OFFSET 0
    ) AS document
    WHERE CASE WHEN contribution.is_own THEN document.local = contribution.ChangeVersion
               ELSE document.local < contribution.ChangeVersion END
      AND (SELECT true
           FROM dms.ReferenceEdge AS edge
           CROSS JOIN LATERAL (
               SELECT IdentityVersion FROM dms.Document WHERE DocumentId = edge.ChildDocumentId OFFSET 0) AS child
           WHERE edge.ParentDocumentId = contribution.DocumentId AND child.IdentityVersion > contribution.ChangeVersion
           LIMIT 1) IS NULL
)
SELECT floors.floor, position.ChangeVersion AS scanned_version, position.DocumentId AS scanned_id,
       changes.ChangeVersion AS change_version, changes.DocumentId AS document_id, changes.DocumentUuid AS document_uuid
FROM (SELECT max(ChangeVersion) AS floor FROM dms.JournalFloor
      WHERE Journal IN ('DocumentChangeEvent', 'IdentityChangeEvent') HAVING count(*) = 2) AS floors  -- no row where one is lost
LEFT JOIN position ON true
LEFT JOIN changes ON true
ORDER BY changes.ChangeVersion, changes.DocumentId

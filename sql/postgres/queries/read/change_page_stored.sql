-- sql/postgres/queries/read/change_page_stored.sql: change_page.sql where option max_dep_identity_version keeps each document's newest child.
-- Binds: as change_page.sql has them. Gives: the same columns, and `is_exact` before them: false where the stored versions are not exact
--   yet, as far as this statement's snapshot shows; then there are no changes, and change_page.sql is to be asked.
-- Plan: one range of IX_Document_MaxDepIdentityVersion; written as change_page.sql tells.
WITH state AS MATERIALIZED (
    SELECT NOT EXISTS (SELECT FROM dms.MaxDepIdentityPending) AS is_exact
),
changes AS MATERIALIZED (
    SELECT greatest(ContentVersion, IdentityVersion, MaxDepIdentityVersion) AS ChangeVersion, DocumentId, DocumentUuid
    FROM dms.Document
    WHERE (SELECT is_exact FROM state)
      AND ResourceKeyId = ANY (ARRAY[CAST(:resource_key_id AS smallint)])
      AND (greatest(ContentVersion, IdentityVersion, MaxDepIdentityVersion), DocumentId)
          > (CAST(:after_version AS bigint), CAST(:after_id AS bigint))
      AND greatest(ContentVersion, IdentityVersion, MaxDepIdentityVersion) <= CAST(:max_version AS bigint)
    ORDER BY ResourceKeyId, greatest(ContentVersion, IdentityVersion, MaxDepIdentityVersion), DocumentId
    LIMIT CAST(:page_size AS bigint)
),
position AS (  -- a full page ends with its last change, another one with the window
    SELECT ChangeVersion, DocumentId FROM changes ORDER BY ChangeVersion, DocumentId OFFSET CAST(:page_size AS bigint) - 1
)
SELECT state.is_exact, floors.floor, position.ChangeVersion AS scanned_version, position.DocumentId AS scanned_id,
       changes.ChangeVersion AS change_version, changes.DocumentId AS document_id, changes.DocumentUuid AS document_uuid
FROM state
CROSS JOIN (SELECT max(ChangeVersion) AS floor FROM dms.JournalFloor
            WHERE Journal IN ('DocumentChangeEvent', 'IdentityChangeEvent') HAVING count(*) = 2) AS floors  -- no row where one is lost
LEFT JOIN position ON true
LEFT JOIN changes ON true
ORDER BY changes.ChangeVersion, changes.DocumentId

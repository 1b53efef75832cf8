-- sql/postgres/queries/read/reused_keys.sql: which of some tombstones have a key that another document had again when the window ended.
-- Binds: versions (JSON array of tombstones' versions, each once); max_version (inclusive, at most a horizon read before).
-- Gives: change_version. A document whose identity stamp is above max_version does not count: a later window has it as a change, and
--   until then its key may have been another one.
-- Plan: a lookup in PK_DocumentDeleteEvent and one in IX_Document_KeyValues each.
SELECT event.ChangeVersion AS change_version
FROM jsonb_array_elements_text(CAST(:versions AS jsonb)) AS wanted (change_version)
CROSS JOIN LATERAL (
    SELECT ChangeVersion, ResourceKeyId, KeyValues
    FROM dms.DocumentDeleteEvent WHERE ChangeVersion = CAST(wanted.change_version AS bigint) OFFSET 0) AS event
CROSS JOIN LATERAL (
    SELECT DocumentId
    FROM dms.Document
    WHERE ResourceKeyId = event.ResourceKeyId
      AND jsonb_hash_extended(KeyValues, 0) = jsonb_hash_extended(event.KeyValues, 0)
      AND KeyValues = event.KeyValues
      AND IdentityVersion <= CAST(:max_version AS bigint)
    LIMIT 1
) AS living
ORDER BY event.ChangeVersion

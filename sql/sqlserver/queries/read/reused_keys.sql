-- sql/sqlserver/queries/read/reused_keys.sql: which of some tombstones have a key that another document had again when the window ended.
-- Binds: versions (JSON array of tombstones' versions, each once); max_version (inclusive, at most a horizon read before).
-- Gives: change_version. A document whose identity stamp is above max_version does not count: a later window has it as a change, and
--   until then its key may have been another one.
-- Plan: a lookup in PK_DocumentDeleteEvent and one in IX_Document_KeyValues each; the text is compared too, as in find_documents.sql.
SET NOCOUNT ON;
DECLARE @versions nvarchar(max) = :versions, @max_version bigint = :max_version;
DECLARE @wanted TABLE (ChangeVersion bigint NOT NULL PRIMARY KEY);
INSERT INTO @wanted (ChangeVersion) SELECT DISTINCT CAST(value AS bigint) FROM OPENJSON(@versions);
SELECT DISTINCT event.ChangeVersion AS change_version
FROM @wanted AS wanted
INNER JOIN dms.DocumentDeleteEvent AS event ON event.ChangeVersion = wanted.ChangeVersion
INNER JOIN dms.Document AS living
    ON living.ResourceKeyId = event.ResourceKeyId
   AND living.KeyValuesHash = CAST(HASHBYTES('SHA2_256', event.KeyValues) AS binary(32))
   AND living.KeyValues = event.KeyValues
   AND living.IdentityVersion <= @max_version
ORDER BY event.ChangeVersion
OPTION (LOOP JOIN, FORCE ORDER);  -- as in derive.sql

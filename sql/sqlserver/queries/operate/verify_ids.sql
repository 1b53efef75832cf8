-- sql/sqlserver/queries/operate/verify_ids.sql: ids that the walks cannot find, and identities that are below ids that are there: a RESEED.
-- Gives: code (id-reserved, ids-ahead), name. An id that IDENTITY_INSERT writes raises the identity, so only a RESEED sets it back.
-- Plan:  the ends of the primary keys.
SET NOCOUNT ON;
SELECT 'id-reserved' AS code, CONCAT(N'document ', DocumentId) AS name
FROM dms.Document WHERE DocumentId < CAST(-9223372036854775807 AS bigint) OR DocumentId > CAST(9223372036854775806 AS bigint)
UNION ALL
SELECT 'ids-ahead', CONCAT(N'dms.Document: ', ids.highest, N', the identity is at ', ids.given)
FROM (SELECT (SELECT MAX(DocumentId) FROM dms.Document) AS highest, CAST(IDENT_CURRENT(N'dms.Document') AS bigint) AS given) AS ids
WHERE ids.highest > ids.given
UNION ALL
SELECT 'ids-ahead', CONCAT(N'dms.ResourceKey: ', ids.highest, N', the identity is at ', ids.given)
FROM (SELECT (SELECT MAX(ResourceKeyId) FROM dms.ResourceKey) AS highest, CAST(IDENT_CURRENT(N'dms.ResourceKey') AS bigint) AS given) AS ids
WHERE ids.highest > ids.given
ORDER BY code, name;

-- sql/sqlserver/queries/operate/verify_key_changes.sql: the key changes of a batch that cannot be read: a key that is too long.
-- Binds: after (exclusive), last (inclusive): ChangeVersions. Gives: code, version. Plan: a range of PK_KeyChangeEvent.
SET NOCOUNT ON;
DECLARE @after bigint = :after, @last bigint = :last;
SELECT 'key-too-long' AS code, ChangeVersion AS version
FROM dms.KeyChangeEvent
WHERE ChangeVersion > @after AND ChangeVersion <= @last AND (DATALENGTH(OldKeyValues) > 16384 OR DATALENGTH(NewKeyValues) > 16384)
ORDER BY ChangeVersion;
